{{- /* Custom resources that the operator may list and watch: those of the settings, and those that rules name. */ -}}
{{- define "shindan.kinds" -}}
{{- $kinds := concat ((.Values.config | default dict).kinds | default list) (.Values.rules.kinds | default list) -}}
{{- range .Values.rules.definitions -}}
{{- range .causes -}}
{{- $match := .match | default list -}}
{{- range kindIs "slice" $match | ternary $match (list $match) -}}
{{- $kinds = concat $kinds (.kinds | default list) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- uniq $kinds | toYaml -}}
{{- end }}
