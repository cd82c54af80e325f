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
        matchLabels: {{- include "shindan.selector" . | nindent 10 }}
{{- end }}

{{- /* A constraint without a selector would count no pod. */ -}}
{{- define "shindan.spread" -}}
{{- range .Values.topologySpreadConstraints }}
- {{- merge (deepCopy .) (dict "labelSelector" (dict "matchLabels" (include "shindan.selector" $ | fromYaml))) | toYaml | nindent 2 }}
{{- end }}
{{- end }}
