{{- /* Names and labels of all objects. */ -}}

{{- define "shindan.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "shindan.fullname" -}}
{{- $name := include "shindan.name" . -}}
{{- if not .Values.fullnameOverride -}}
{{- $name = contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- end -}}
{{- .Values.fullnameOverride | default $name | trunc 55 | trimSuffix "-" }}
{{- end }}

{{- define "shindan.account" -}}
{{- .Values.serviceAccount.name | default (include "shindan.fullname" .) }}
{{- end }}

{{- /* The selector of a Deployment cannot be changed, so it has the one label of version 0.1. */ -}}
{{- define "shindan.selector" -}}
app.kubernetes.io/name: {{ include "shindan.name" . | quote }}
{{- end }}

{{- define "shindan.labels" -}}
{{ include "shindan.selector" . }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: operator
app.kubernetes.io/part-of: {{ .Chart.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
{{- end }}

{{- /* What binds a role to the operator's account. */ -}}
{{- define "shindan.subjects" -}}
subjects:
- kind: ServiceAccount
  name: {{ include "shindan.account" . | quote }}
  namespace: {{ .Release.Namespace | quote }}
{{- end }}
