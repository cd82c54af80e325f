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

{{- /* What the CRDs of the cluster lack. Helm creates missing CRDs from crds/, and never updates one. The API server drops fields
that a CRD does not have, so diagnoses would lose them. Without a cluster, `lookup` finds nothing. */ -}}
{{- define "shindan.outdated" -}}
{{- if .Values.crds.check -}}
{{- range $file, $_ := .Files.Glob "crds/*.yaml" -}}
{{- $ours := $.Files.Get $file | fromYaml -}}
{{- $kind := $ours.spec.names.kind -}}
{{- $theirs := dict -}}
{{- $found := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" $ours.metadata.name -}}
{{- range ($found.spec | default dict).versions -}}
{{- $_ := set $theirs .name .schema.openAPIV3Schema -}}
{{- end -}}
{{- if $found -}}
{{- range $ours.spec.versions -}}
{{- if hasKey $theirs .name -}}
{{- include "shindan.absent" (dict "path" $kind "ours" .schema.openAPIV3Schema "theirs" (get $theirs .name)) -}}
{{- else -}}
{{- print $kind " " .name ", " -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}
