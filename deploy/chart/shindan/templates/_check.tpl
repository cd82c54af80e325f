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

{{- /* The range of each duration in `notify.config`. */ -}}
{{- define "shindan.notifyDurations" -}}
groupWait: [0s, 5m]
updateInterval: [0s, 1d]
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

{{- /* "; similar: A, B" of the names that share the most first letters with this one, at least three. */ -}}
{{- define "shindan.similar" -}}
{{- $name := lower .name -}}
{{- $names := .names -}}
{{- $similar := list -}}
{{- range $length := untilStep (len $name) 2 -1 -}}
{{- if not $similar -}}
{{- range $names -}}
{{- if hasPrefix (trunc $length $name) (lower .) -}}{{- $similar = append $similar . -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with $similar -}}{{- printf "; similar: %s" (slice . 0 (min 5 (len .)) | join ", ") -}}{{- end -}}
{{- end }}

{{- /* All errors that the schema cannot detect: the operator would refuse to start with most of them. */ -}}
{{- define "shindan.check" -}}
{{- $config := .Values.config | default dict -}}
{{- $wrong := list -}}
{{- $durations := dict "config" (dict "values" $config "ranges" "shindan.durations") -}}
{{- $_ := set $durations "notify.config" (dict "values" (.Values.notify.config | default dict) "ranges" "shindan.notifyDurations") -}}
{{- range $path, $part := $durations -}}
{{- range $name, $range := include $part.ranges $ | fromYaml -}}
{{- $value := index $part.values $name -}}
{{- if ne nil $value -}}
{{- $seconds := include "shindan.seconds" $value | int64 -}}
{{- $least := include "shindan.seconds" (first $range) | int64 -}}
{{- $most := include "shindan.seconds" (last $range) | int64 -}}
{{- if or (lt $seconds $least) (gt $seconds $most) -}}
{{- $wrong = append $wrong (printf "%s.%s: %v must be from %s to %s" $path $name $value (first $range) (last $range)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $causes := include "shindan.causes" . | fromYaml -}}
{{- $timed := list -}}
{{- range $cause, $isTimed := $causes -}}
{{- if $isTimed -}}{{- $timed = append $timed $cause -}}{{- end -}}
{{- end -}}
{{- range $cause, $value := $config.thresholds | default dict -}}
{{- /* A name with a prefix is that of a rule. */ -}}
{{- if not (or (contains "/" $cause) (has (lower $cause) ($timed | join "," | lower | splitList ","))) -}}
{{- $similar := include "shindan.similar" (dict "name" $cause "names" $timed) -}}
{{- $wrong = append $wrong (printf "config.thresholds: %s is no cause with a threshold%s; docs/configuration.md lists them" $cause $similar) -}}
{{- end -}}
{{- $seconds := include "shindan.seconds" ($value | default 0) | int64 -}}
{{- if or (lt $seconds 0) (gt $seconds 86400) -}}
{{- $wrong = append $wrong (printf "config.thresholds.%s: %v must be from 0s to 1d" $cause $value) -}}
{{- end -}}
{{- end -}}
{{- range $cause := $config.ignoreCauses | default list -}}
{{- if not (has (lower $cause) (keys $causes | join "," | lower | splitList ",")) -}}
{{- $similar := include "shindan.similar" (dict "name" $cause "names" (keys $causes | sortAlpha)) -}}
{{- $wrong = append $wrong (printf "config.ignoreCauses: %s is no cause%s; docs/causes.md lists them" $cause $similar) -}}
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
{{- $flags := include "shindan.flags" . | fromYaml -}}
{{- range .Values.extraArgs -}}
{{- $flag := trimPrefix "--" . | splitList "=" | first -}}
{{- with get $flags $flag -}}
{{- $wrong = append $wrong (printf "extraArgs: --%s is set by %s" $flag .) -}}
{{- end -}}
{{- end -}}
{{- $set := dict -}}
{{- range .Values.extraEnv -}}
{{- $flag := trimPrefix "SHINDAN_" .name | lower | replace "_" "-" -}}
{{- if hasPrefix "SHINDAN_" .name -}}
{{- with get $flags $flag -}}
{{- $wrong = append $wrong (printf "extraEnv: %s is set by %s" (upper $flag | replace "-" "_" | print "SHINDAN_") .) -}}
{{- end -}}
{{- end -}}
{{- if hasKey $set .name -}}
{{- $wrong = append $wrong (printf "extraEnv: %s is set twice" .name) -}}
{{- end -}}
{{- $_ := set $set .name true -}}
{{- end -}}
{{- if and (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) -}}
{{- $wrong = append $wrong "serviceAccount.name: name the account that exists, or set serviceAccount.create to true" -}}
{{- end -}}
{{- if and .Values.rules.definitions (not (include "shindan.nodes" .)) -}}
{{- $wrong = append $wrong "rules.definitions: DiagnosisRules are cluster-scoped, and the operator reads them only with nodes: true" -}}
{{- end -}}
{{- $own := include "shindan.labels" . | fromYaml -}}
{{- $added := dict "podLabels" .Values.podLabels "metrics.serviceMonitor.labels" .Values.metrics.serviceMonitor.labels -}}
{{- $_ := set $added "prometheusRule.labels" .Values.prometheusRule.labels -}}
{{- $_ := set $added "dashboards.labels" .Values.dashboards.labels -}}
{{- range $value, $labels := $added -}}
{{- range $label, $_ := $labels -}}
{{- if hasKey $own $label -}}
{{- $wrong = append $wrong (printf "%s: the chart sets the label %s" $value $label) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if hasKey (.Values.prometheusRule.alertLabels | default dict) "severity" -}}
{{- $wrong = append $wrong "prometheusRule.alertLabels: each alert has its own severity" -}}
{{- end -}}
{{- $alerts := include "shindan.alerts" . | splitList "," -}}
{{- range .Values.prometheusRule.disabled -}}
{{- if not (has . $alerts) -}}
{{- $wrong = append $wrong (printf "prometheusRule.disabled: %s is no alert; the alerts are: %s" . (join ", " $alerts)) -}}
{{- end -}}
{{- end -}}
{{- $volumes := list -}}
{{- range .Values.extraVolumes -}}
{{- $volumes = append $volumes .name -}}
{{- end -}}
{{- range .Values.extraVolumeMounts -}}
{{- if not (has .name $volumes) -}}
{{- $wrong = append $wrong (printf "extraVolumeMounts: extraVolumes has no volume %s" .name) -}}
{{- end -}}
{{- end -}}
{{- $wrong = concat $wrong (include "shindan.notifyErrors" . | fromJsonArray) -}}
{{- if $wrong }}{{ printf "these values cannot be installed:\n- %s" (join "\n- " $wrong) | fail }}{{ end -}}
{{- with include "shindan.outdated" . | trimSuffix ", " -}}
{{- $command := "helm show crds CHART --version VERSION | kubectl apply --server-side --force-conflicts -f -" -}}
{{- printf "the CRDs of the cluster are older than this chart, and Helm does not update them. They lack %s. Apply the new ones first:\n\n  %s\n" . $command | fail -}}
{{- end -}}
{{- end }}

