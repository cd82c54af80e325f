{{- /* Volumes of the file of --notify and of its secrets. */ -}}
{{- define "shindan.notifyVolumes" -}}
{{- if .Values.notify.config }}
- name: notify
  configMap: {name: {{ include "shindan.fullname" . }}-notify}
{{- with .Values.notify.secretName }}
- name: notify-secrets
  secret: {secretName: {{ . | quote }}}
{{- end }}
{{- end }}
{{- end }}

{{- define "shindan.notifyMounts" -}}
{{- if .Values.notify.config }}
- {name: notify, mountPath: /etc/shindan/notify, readOnly: true}
{{- if .Values.notify.secretName }}
- {name: notify-secrets, mountPath: /etc/shindan/notify-secrets, readOnly: true}
{{- end }}
{{- end }}
{{- end }}

{{- /* The file is read once, so a change of it replaces the pods. The secrets are read for each message. */ -}}
{{- define "shindan.notifyChecksum" -}}
{{- with .Values.notify.config }}
shindan.dev/notify-config: {{ toJson . | sha256sum | trunc 16 | quote }}
{{- end }}
{{- end }}
