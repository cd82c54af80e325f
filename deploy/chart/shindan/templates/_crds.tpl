{{- /* The fields of one schema that another lacks, separated by commas. */ -}}
{{- define "shindan.absent" -}}
{{- $known := .theirs.properties | default dict -}}
{{- range $name, $field := .ours.properties -}}
{{- $path := print $.path "." $name -}}
{{- if hasKey $known $name -}}
{{- include "shindan.absent" (dict "path" $path "ours" $field "theirs" (get $known $name)) -}}
{{- else -}}
{{- print $path ", " -}}
{{- end -}}
{{- end -}}
{{- with .ours.items -}}
{{- include "shindan.absent" (dict "path" $.path "ours" . "theirs" ($.theirs.items | default dict)) -}}
{{- end -}}
{{- end }}

{{- /* What the CRDs of the cluster lack. Helm creates those in crds/ at an installation, and neither creates nor updates one at an
upgrade. The API server drops fields that a CRD does not have, so diagnoses would lose them. Without a cluster, `lookup` finds nothing. */ -}}
{{- define "shindan.outdated" -}}
{{- if .Values.crds.check -}}
{{- $missing := list -}}
{{- $found := false -}}
{{- range $file, $_ := .Files.Glob "crds/*.yaml" -}}
{{- $ours := $.Files.Get $file | fromYaml -}}
{{- $kind := $ours.spec.names.kind -}}
{{- with lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" $ours.metadata.name -}}
{{- $found = true -}}
{{- $theirs := dict -}}
{{- range .spec.versions -}}
{{- $_ := set $theirs .name .schema.openAPIV3Schema -}}
{{- end -}}
{{- range $ours.spec.versions -}}
{{- if hasKey $theirs .name -}}
{{- include "shindan.absent" (dict "path" $kind "ours" .schema.openAPIV3Schema "theirs" (get $theirs .name)) -}}
{{- else -}}
{{- print $kind " " .name ", " -}}
{{- end -}}
{{- end -}}
{{- else -}}
{{- $missing = append $missing $kind -}}
{{- end -}}
{{- end -}}
{{- if and $found .Release.IsUpgrade -}}
{{- range $missing -}}
{{- print . ", " -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}
