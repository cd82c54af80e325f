{{- /* A file of deploy/components/monitoring, with the names of this release in its commands and queries. */ -}}
{{- define "shindan.monitoring" -}}
{{- $name := include "shindan.name" .root -}}
{{- $text := .root.Files.Get .file | replace "shindan-system" .root.Release.Namespace -}}
{{- $text = replace "app.kubernetes.io/name=shindan" (print "app.kubernetes.io/name=" $name) $text -}}
{{- replace "deployment/shindan" (print "deployment/" (include "shindan.fullname" .root)) $text -}}
{{- end }}

{{- /* The names of the alerts, separated by commas. */ -}}
{{- define "shindan.alerts" -}}
{{- $names := list -}}
{{- range (.Files.Get "files/alerts.yaml" | fromYaml).spec.groups -}}
{{- range .rules -}}
{{- $names = append $names .alert -}}
{{- end -}}
{{- end -}}
{{- join "," $names -}}
{{- end }}
