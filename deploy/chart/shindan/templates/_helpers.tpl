{{- /* Names are fixed, as in deploy/base: pages and commands name them, and one operator is enough for a cluster. */ -}}

{{- define "shindan.subjects" -}}
subjects:
- kind: ServiceAccount
  name: {{ .Values.serviceAccount.name | quote }}
  namespace: {{ .Release.Namespace | quote }}
{{- end }}

{{- /* Whether Nodes are read: "true" or nothing. Chosen namespaces alone are no right in the cluster. */ -}}
{{- define "shindan.nodes" -}}
{{- if kindIs "bool" .Values.nodes }}{{ if .Values.nodes }}true{{ end }}{{ else if not .Values.namespaces }}true{{ end }}
{{- end }}

{{- /* What the operator does, verb by verb: deploy/base/operator-role.yaml with nodes, deploy/namespace/role.yaml without. */ -}}
{{- define "shindan.rules" -}}
{{- $nodes := .nodes -}}
rules:
- apiGroups: [""]
  resources: [pods{{ if $nodes }}, nodes{{ end }}, services, events]
  verbs: [list, watch]
- apiGroups: [apps]
  resources: [deployments, statefulsets, daemonsets]
  verbs: [get, list, watch]
- apiGroups: [batch]
  resources: [jobs, cronjobs]
  verbs: [get, list, watch]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list]
- apiGroups: [""]
  resources: [replicationcontrollers]
  verbs: [get]
- apiGroups: [apps]
  resources: [replicasets]
  verbs: [get, list]
- apiGroups: [apps]
  resources: [controllerrevisions]
  verbs: [list]
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [list]
{{- if $nodes }}
- apiGroups: [storage.k8s.io]
  resources: [storageclasses]
  verbs: [list]
{{- end }}
- apiGroups: [shindan.dev]
  resources: [{{ if $nodes }}nodediagnoses, {{ end }}poddiagnoses, workloaddiagnoses]
  verbs: [get, list, watch, create, patch, delete]
{{- if $nodes }}
- apiGroups: [shindan.dev]
  resources: [diagnosisrules]
  verbs: [list, watch]
- apiGroups: [shindan.dev]
  resources: [diagnosisrules/status]
  verbs: [patch]
{{- end }}
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- end }}

{{- define "shindan.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- /* The range of each duration in `config` (a test compares them with src/config.rs): a schema can check the format of a
duration, but not its range. */ -}}
{{- define "shindan.durations" -}}
retention: [1m, 90d]
leaderElectLeaseDuration: [3s, 1h]
leaderElectRenewDeadline: [2s, 1h]
leaderElectRetryPeriod: [1s, 1h]
unschedulable: [0s, 1d]
unschedulableScalingUp: [0s, 1d]
neverReady: [0s, 1d]
readinessLost: [0s, 1d]
creating: [0s, 1d]
creatingPulling: [0s, 1d]
init: [0s, 1d]
recoveredNeverStarted: [0s, 1d]
recoveredRestarting: [0s, 1d]
eventGrace: [0s, 5m]
flappingWindow: [1m, 1d]
flappingStable: [1m, 1d]
{{- end }}

{{- /* Seconds of 90, "90", "90s", "5m" or "1h30m", as the program reads them. */ -}}
{{- define "shindan.seconds" -}}
{{- if kindIs "string" . -}}
{{- $seconds := 0 -}}
{{- range regexFindAll "[0-9]+[smhd]?" . -1 -}}
{{- $unit := get (dict "m" 60 "h" 3600 "d" 86400) (regexFind "[smhd]" .) | default 1 -}}
{{- $seconds = add $seconds (mul (regexFind "[0-9]+" . | atoi) $unit) -}}
{{- end -}}
{{- $seconds -}}
{{- else -}}
{{- int64 . -}}
{{- end -}}
{{- end }}

{{- /* All errors in `config` that the schema cannot detect: the operator would refuse to start with them. */ -}}
{{- define "shindan.check" -}}
{{- $config := .Values.config | default dict -}}
{{- $wrong := list -}}
{{- range $name, $range := include "shindan.durations" . | fromYaml -}}
{{- $value := index $config $name -}}
{{- if ne nil $value -}}
{{- $seconds := include "shindan.seconds" $value | int64 -}}
{{- $least := include "shindan.seconds" (first $range) | int64 -}}
{{- $most := include "shindan.seconds" (last $range) | int64 -}}
{{- if or (lt $seconds $least) (gt $seconds $most) -}}
{{- $wrong = append $wrong (printf "config.%s: %v must be from %s to %s" $name $value (first $range) (last $range)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $cause, $value := $config.thresholds | default dict -}}
{{- $timed := include "shindan.timedCauses" $ | fromYamlArray -}}
{{- /* A name with a prefix is that of a rule. */ -}}
{{- if not (or (contains "/" $cause) (has (lower $cause) ($timed | join "," | lower | splitList ","))) -}}
{{- $wrong = append $wrong (printf "config.thresholds: %s is no cause with a threshold; the causes with one are: %s" $cause (join ", " $timed)) -}}
{{- end -}}
{{- $seconds := include "shindan.seconds" ($value | default 0) | int64 -}}
{{- if or (lt $seconds 0) (gt $seconds 86400) -}}
{{- $wrong = append $wrong (printf "config.thresholds.%s: %v must be from 0s to 1d" $cause $value) -}}
{{- end -}}
{{- end -}}
{{- range $name := $config.excludeNamespaces | default list -}}
{{- if has $name $.Values.namespaces -}}
{{- $wrong = append $wrong (printf "namespaces and config.excludeNamespaces both name %s" $name) -}}
{{- end -}}
{{- end -}}
{{- $lease := list (dict "name" "LeaseDuration" "default" "10s") (dict "name" "RenewDeadline" "default" "6s") -}}
{{- $longer := dict -}}
{{- range append $lease (dict "name" "RetryPeriod" "default" "2s") -}}
{{- $name := print "config.leaderElect" .name -}}
{{- $value := index $config (print "leaderElect" .name) | default .default -}}
{{- $seconds := include "shindan.seconds" $value | int64 -}}
{{- if and $longer (le $longer.seconds $seconds) -}}
{{- $wrong = append $wrong (printf "%s (%v) must be longer than %s (%v)" $longer.name $longer.value $name $value) -}}
{{- end -}}
{{- $longer = dict "name" $name "value" $value "seconds" $seconds -}}
{{- end -}}
{{- if $wrong }}{{ printf "values that the operator does not take:\n- %s" (join "\n- " $wrong) | fail }}{{ end -}}
{{- end }}

{{- /* What is set in `config`, as variables. The log's format is an argument, as in deploy/base. */ -}}
{{- define "shindan.env" -}}
{{- if .Values.namespaces }}
- {name: SHINDAN_NAMESPACES, value: {{ join "," .Values.namespaces | quote }}}
{{- end }}
{{- if or .Values.namespaces (not (include "shindan.nodes" .)) }}
- {name: SHINDAN_NODES, value: {{ include "shindan.nodes" . | default "false" | quote }}}
{{- end }}
{{- range $name, $value := omit (.Values.config | default dict) "logFormat" }}
{{- if kindIs "slice" $value }}
{{- $value = join "," $value }}
{{- else if kindIs "map" $value }}
{{- $pairs := list }}
{{- range $cause, $after := $value }}
{{- if ne nil $after }}
{{- $pairs = append $pairs (printf "%s=%v" $cause (kindIs "string" $after | ternary $after (int64 $after))) }}
{{- end }}
{{- end }}
{{- $value = join "," $pairs }}
{{- else if not (kindIs "string" $value) }}
{{- $value = ternary "" (int64 $value | toString) (eq nil $value) }}
{{- end }}
{{- if $value }}
- {name: SHINDAN_{{ snakecase $name | upper }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Preferred: where there is one node only, two replicas there still outlive the death of one. */ -}}
{{- define "shindan.affinity" -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
  - weight: 100
    podAffinityTerm:
      topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels: {app.kubernetes.io/name: shindan}
{{- end }}
