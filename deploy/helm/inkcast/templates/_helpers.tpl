{{- define "inkcast.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "inkcast.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "inkcast.name" .) }}
{{- end }}

{{- define "inkcast.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* Labels by which pods are selected: they must not change with a version. Argument: root, role (optional). */}}
{{- define "inkcast.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .role }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{- define "inkcast.labels" -}}
{{ include "inkcast.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{/* A setting of a role: its env comes before the settings of all roles. Arguments: root, values (of the role), name. */}}
{{- define "inkcast.setting" -}}
{{- $env := .values.env | default dict -}}
{{ hasKey $env .name | ternary (get $env .name) (get .root.Values.settings .name) }}
{{- end }}

{{/* The time that a pod has to stop, s: preStop, DRAIN_TIMEOUT, and some for a process that has to be killed. */}}
{{- define "inkcast.grace" -}}
{{- $drain := include "inkcast.setting" (dict "root" .root "values" .values "name" "DRAIN_TIMEOUT") | default "30000" -}}
{{ add .values.preStopSeconds (div (int $drain) 1000) 10 }}
{{- end }}

{{/* Ports of the listeners that have ports of their own, separated by commas. */}}
{{- define "inkcast.listenerPorts" -}}
{{- $ports := list -}}
{{- $listeners := include "inkcast.setting" (dict "root" . "values" .Values.gateway "name" "LISTENERS") -}}
{{- range regexFindAll "://(\\[[^]]*\\]|[^:/,]*):[0-9]+" $listeners -1 }}{{ $ports = append $ports (regexFind "[0-9]+$" .) }}{{ end -}}
{{ join "," ($ports | uniq) }}
{{- end }}

{{/* The kubelet does not check the certificate. Arguments: root, values (of the role). */}}
{{- define "inkcast.adminScheme" -}}
{{ ternary "HTTP" "HTTPS" (empty (include "inkcast.setting" (dict "root" .root "values" .values "name" "ADMIN_TLS_FILES"))) }}
{{- end }}
