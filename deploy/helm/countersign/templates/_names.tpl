{{- define "countersign.name" -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "countersign.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "countersign.labels" -}}
{{ include "countersign.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "countersign.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "countersign.secretVariable" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: {{ .key }}
      {{- if .optional }}
      optional: true
      {{- end }}
{{- end -}}

{{/* The names of the service in the cluster, and the hosts of the value environment.COUNTERSIGN_ALLOWED_HOSTS. */}}
{{- define "countersign.hosts" -}}
{{- $name := include "countersign.name" . -}}
{{- $inNamespace := printf "%s.%s" $name .Release.Namespace -}}
{{- $hosts := list $name $inNamespace (printf "%s.svc" $inNamespace) (printf "%s.svc.cluster.local" $inNamespace) -}}
{{- with get (.Values.environment | default dict) "COUNTERSIGN_ALLOWED_HOSTS" }}{{ $hosts = append $hosts . }}{{ end -}}
{{- join "," $hosts | quote -}}
{{- end -}}

{{/* The environment of the servers and of the migration. */}}
{{- define "countersign.environment" -}}
{{- $secret := required "existingSecret is required" .Values.existingSecret -}}
{{ include "countersign.secretVariable" (dict "secret" $secret "name" "DATABASE_URL" "key" "database-url") }}
{{ include "countersign.secretVariable" (dict "secret" $secret "name" "COUNTERSIGN_MASTER_SECRET" "key" "master-secret") }}
{{ include "countersign.secretVariable" (dict "secret" $secret "name" "COUNTERSIGN_SIGNING_KEY" "key" "signing-key") }}
{{ include "countersign.secretVariable" (dict "secret" $secret "name" "COUNTERSIGN_SIGNING_KEY_PREVIOUS" "key" "signing-key-previous" "optional" true) }}
{{ include "countersign.secretVariable" (dict "secret" $secret "name" "COUNTERSIGN_MIGRATE_DATABASE_URL" "key" "migrate-database-url" "optional" true) }}
{{ include "countersign.secretVariable" (dict "secret" $secret "name" "COUNTERSIGN_METRICS_TOKEN" "key" "metrics-token" "optional" true) }}
- name: COUNTERSIGN_BEHIND_PROXY
  value: 'true'
{{- with .Values.publicUrl }}
- name: COUNTERSIGN_PUBLIC_URL
  value: {{ . | quote }}
{{- end }}
- name: COUNTERSIGN_ALLOWED_HOSTS
  value: {{ include "countersign.hosts" . }}
{{- if .Values.memoryClaim }}
- name: COUNTERSIGN_MEMORY_DIR
  value: /var/lib/countersign/memory
{{- end }}
{{- range $name, $value := omit (.Values.environment | default dict) "COUNTERSIGN_ALLOWED_HOSTS" }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}

{{- define "countersign.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "countersign.containerSecurity" -}}
readOnlyRootFilesystem: true
allowPrivilegeEscalation: false
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "countersign.mounts" -}}
- name: data
  mountPath: /var/lib/countersign
{{- if .Values.memoryClaim }}
- name: memory
  mountPath: /var/lib/countersign/memory
{{- end }}
{{- end -}}

{{- define "countersign.volumes" -}}
- name: data
  emptyDir: {}
{{- with .Values.memoryClaim }}
- name: memory
  persistentVolumeClaim:
    claimName: {{ . }}
{{- end }}
{{- end -}}
