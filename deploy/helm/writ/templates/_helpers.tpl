{{- define "writ.name" -}}{{ .Release.Name | trunc 63 | trimSuffix "-" }}{{- end }}

{{- define "writ.selector" -}}
app.kubernetes.io/name: writ
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "writ.serviceAccount" -}}{{ .Values.serviceAccount.name | default (include "writ.name" .) }}{{- end }}

{{- define "writ.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{/* The configuration file: what values have, and what the chart decides. */}}
{{- define "writ.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- if and .Values.state.existingClaim (gt (int .Values.replicas) 1) -}}
{{- fail "state.existingClaim requires replicas: 1, because a state directory belongs to one server" -}}
{{- end -}}
{{- $_ := set $config "listen" (printf ":%v" .Values.service.port) -}}
{{- $_ := set $config "metrics-listen" (printf ":%v" .Values.service.metricsPort) -}}
{{- $_ := set $config "state-dir" "/var/lib/writ" -}}
{{- if not (hasKey $config "log-format") }}{{ $_ := set $config "log-format" "json" }}{{ end -}}
{{- if .Values.envoy.enabled }}{{ $_ := set $config "envoy-listen" (printf ":%v" .Values.envoy.port) }}{{ end -}}
{{- if .Values.aggregation.enabled -}}
{{- if not .Values.tls.secretName }}{{ fail "aggregation.enabled requires tls.secretName" }}{{ end -}}
{{- if not (or .Values.aggregation.tls.caBundle .Values.aggregation.annotations) -}}
{{- fail "aggregation.enabled requires aggregation.tls.caBundle, or annotations by which a controller adds it" -}}
{{- end -}}
{{- $_ := set $config "aggregation-listen" (printf ":%v" .Values.aggregation.port) -}}
{{- if not (hasKey $config "requestheader-client-ca") }}{{ $_ := set $config "requestheader-from-cluster" true }}{{ end -}}
{{- end -}}
{{- if .Values.tls.secretName -}}
{{- $_ := set $config "tls-cert" "/etc/writ-tls/tls.crt" -}}
{{- $_ := set $config "tls-key" "/etc/writ-tls/tls.key" -}}
{{- with .Values.tls.clientCAKey }}{{ $_ := set $config "client-ca" (printf "/etc/writ-tls/%s" .) }}{{ end -}}
{{- else if not (index $config "insecure-listen") -}}
{{- fail "tls.secretName is required, or config with insecure-listen: true" -}}
{{- end -}}
{{- toYaml $config -}}
{{- end }}
