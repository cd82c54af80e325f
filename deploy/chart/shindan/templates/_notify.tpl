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

{{- /* What the schema cannot detect in `notify`, as a JSON list: the operator would refuse to start with it. */ -}}
{{- define "shindan.notifyErrors" -}}
{{- $config := .Values.notify.config | default dict -}}
{{- $secrets := "/etc/shindan/notify-secrets/" -}}
{{- $kinds := list "slack" "teams" "discord" "pagerDuty" "opsgenie" "alertmanager" "webhook" -}}
{{- $wrong := list -}}
{{- if and $config (not $config.receivers) -}}
{{- $wrong = append $wrong "notify.config.receivers: name at least one receiver" -}}
{{- end -}}
{{- if and .Values.notify.secretName (not $config) -}}
{{- $wrong = append $wrong "notify.secretName: nothing uses this Secret, because notify.config has no receivers" -}}
{{- end -}}
{{- $names := list -}}
{{- range $at, $receiver := $config.receivers -}}
{{- $place := printf "notify.config.receivers[%d] (%s)" $at .name -}}
{{- if has .name $names -}}
{{- $wrong = append $wrong (printf "%s: the name is there twice" $place) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- $given := list -}}
{{- range $kinds -}}
{{- if hasKey $receiver . -}}{{- $given = append $given . -}}{{- end -}}
{{- end -}}
{{- if ne 1 (len $given) -}}
{{- $wrong = append $wrong (printf "%s: must have exactly one of: %s" $place (join ", " $kinds)) -}}
{{- end -}}
{{- if hasKey $receiver "webhook" -}}
{{- if eq (hasKey .webhook "url") (hasKey .webhook "urlFile") -}}
{{- $wrong = append $wrong (printf "%s: webhook: must have either url or urlFile" $place) -}}
{{- end -}}
{{- end -}}
{{- range $given -}}
{{- $endpoint := get $receiver . -}}
{{- range $key, $value := merge (pick $receiver "caFile") $endpoint -}}
{{- if and (hasSuffix "File" $key) (hasPrefix $secrets $value) (not $.Values.notify.secretName) -}}
{{- $wrong = append $wrong (printf "%s: %s: name the Secret with this file in notify.secretName" $place $key) -}}
{{- end -}}
{{- end -}}
{{- with $endpoint.url -}}
{{- $host := trimPrefix "http://" . | regexFind `^(\[[^]]*\]|[^/:?#]*)` | lower -}}
{{- if and (hasPrefix "http://" .) (not (regexMatch `^([^.[]*|.*[.]svc([.]cluster[.]local)?|.*[.]localhost|127[.][0-9.]+|\[::1\])$` $host)) -}}
{{- $wrong = append $wrong (printf "%s: url: must begin with https://; http:// is allowed only for loopback addresses and Services of the cluster" $place) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $at, $route := $config.routes -}}
{{- range .receivers -}}
{{- if not (has . $names) -}}
{{- $wrong = append $wrong (printf "notify.config.routes[%d]: there is no receiver %s" $at .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $wrong -}}
{{- end }}
