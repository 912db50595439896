{{/* Pods of the site: one image, one ConfigMap, and the Secrets of a role. */}}

{{- define "planarena.settings" -}}
PLANARENA_DATA: /data
{{- with .Values.store }}
PLANARENA_STORE: {{ ternary .bucket "/store" (eq .kind "bucket") }}
{{- if eq .kind "bucket" }}
{{- with .endpoint }}
PLANARENA_S3_ENDPOINT: {{ . | quote }}
{{- end }}
{{- with .publicEndpoint }}
PLANARENA_S3_PUBLIC_ENDPOINT: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}
PLANARENA_LAUNCHER: leaderboard.queue.launching.kubernetes_launcher
PLANARENA_API_URL: http://{{ include "planarena.webHost" . }}:8000
PLANARENA_SITE_URL: {{ include "planarena.scheme" . }}://{{ .Values.host }}
PLANARENA_ALLOWED_HOSTS: {{ include "planarena.hosts" . | quote }}
PLANARENA_TRUST_PROXY: "1"
PLANARENA_KUBERNETES_NAMESPACE: {{ .Values.namespaces.jobs }}
PLANARENA_KUBERNETES_POOLS: {{ include "planarena.poolsForTheSite" . | quote }}
{{- with .Values.modelMirror }}
HF_ENDPOINT: {{ . | quote }}
{{- end }}
{{- if .Values.locks }}
# The lock files only: pods of the site load no weights.
PLANARENA_WEIGHTS: /weights
{{- end }}
{{ include "planarena.egress" . }}
{{ include "planarena.tracing" . }}
{{ include "planarena.caVariables" . }}
{{- end }}

{{- define "planarena.hosts" -}}
{{ prepend .Values.furtherHosts .Values.host | join "," }},{{ include "planarena.webHost" . }}
{{- end }}

{{/* The operator's variables win. */}}
{{- define "planarena.allSettings" -}}
{{- $settings := include "planarena.settings" . | fromYaml -}}
{{- range $name, $value := .Values.settings -}}
{{- if has $name (list "AWS_SECRET_ACCESS_KEY" "AWS_SESSION_TOKEN" "DATABASE_URL" "DATABASE_DIRECT_URL" "DATABASE_PASSWORD" "BROKER_URL" "EMAIL_HOST_PASSWORD" "OTEL_EXPORTER_OTLP_HEADERS" "PLANARENA_GITHUB_SECRET" "PLANARENA_HIDDEN_SEED" "PLANARENA_METRICS_TOKEN" "PLANARENA_SECRETS_KEY" "PLANARENA_SECRET_KEY" "PLANARENA_SECRET_KEY_BEFORE" "PLANARENA_SIGNING_KEY" "PLANARENA_WEBHOOK_KEY" "PLANARENA_WORKER_TOKEN") -}}
{{- fail (printf "settings.%s is a secret: put it into one of the Secrets that `secrets` names." $name) -}}
{{- end -}}
{{- $_ := set $settings $name (include "planarena.text" $value) -}}
{{- end -}}
{{ toYaml $settings }}
{{- end }}

{{/* Changed settings replace the pods. */}}
{{- define "planarena.checksums" -}}
planarena.io/settings: {{ include "planarena.allSettings" . | sha256sum | trunc 16 }}
{{- with .Values.locks }}
planarena.io/locks: {{ toJson . | sha256sum | trunc 16 }}
{{- end }}
{{- with .Values.privateCA.certificates }}
planarena.io/private-ca: {{ sha256sum . | trunc 16 }}
{{- end }}
{{- with .Values.secrets.create }}
{{- if or .site .web .metrics }}
planarena.io/secrets: {{ toJson . | sha256sum | trunc 16 }}
{{- end }}
{{- end }}
{{- end }}

{{/* envFrom and env of a container of the site. Takes `root`, `role` (web or queue), `own` (values of its workload) and `stores`: it
     reads or writes objects. */}}
{{- define "planarena.siteEnvironment" -}}
{{- $values := .root.Values -}}
envFrom:
  - configMapRef:
      name: planarena-settings
  {{- include "planarena.secretRefs" (dict "root" .root "given" (list $values.secrets.site)) | nindent 2 }}
{{- if eq .role "web" }}
  - secretRef:
      name: {{ $values.secrets.web }}
  # Without it /metrics does not exist.
  - secretRef:
      name: {{ $values.secrets.metrics }}
      optional: true
{{- end }}
{{- if and .stores (eq $values.store.kind "bucket") $values.store.secret }}
  - secretRef:
      name: {{ $values.store.secret }}
{{- end }}
env:
{{- if eq .role "web" }}
  # Prometheus asks each pod by its address.
  - name: POD_IP
    valueFrom:
      fieldRef:
        fieldPath: status.podIP
  - name: PLANARENA_ALLOWED_HOSTS
    value: {{ printf "%s,$(POD_IP),[$(POD_IP)]" (index $values.settings "PLANARENA_ALLOWED_HOSTS" | default (include "planarena.hosts" .root)) | quote }}
{{- else }}
  - name: PLANARENA_ROLE
    value: queue
{{- end }}
{{- with $values.database }}
{{- if .host }}
  - name: DATABASE_PASSWORD
    valueFrom:
      secretKeyRef:
        name: {{ .passwordSecret.name | default $values.secrets.site }}
        key: {{ .passwordSecret.key }}
{{- $options := ternary (printf "?%s" .options) "" (ne .options "") }}
{{- $direct := printf "postgresql://%s:$(DATABASE_PASSWORD)@%s:%d/%s%s" .user .host (int .port) .name $options }}
{{- $pooled := printf "postgresql://%s:$(DATABASE_PASSWORD)@%s:%d/%s%s" .user .pooler.host (int .pooler.port) .name $options }}
  - name: DATABASE_URL
    value: {{ ternary $pooled $direct (ne .pooler.host "") | quote }}
  - name: DATABASE_DIRECT_URL
    value: {{ $direct | quote }}
{{- end }}
{{- end }}
{{- with include "planarena.extra" (dict "root" .root "own" .own "of" "extraEnv") }}
{{- . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "planarena.scratchMounts" -}}
- name: data
  mountPath: /data
- name: tmp
  mountPath: /tmp
{{- end }}

{{- define "planarena.scratchVolumes" -}}
- name: data
  emptyDir:
    sizeLimit: 1Gi
- name: tmp
  emptyDir:
    sizeLimit: 256Mi
{{- end }}

{{/* Mounts of a container of the site. Takes `root` and `own`. */}}
{{- define "planarena.siteMounts" -}}
{{ include "planarena.scratchMounts" .root }}
{{- include "planarena.caMounts" .root }}
{{- with include "planarena.extra" (dict "root" .root "own" .own "of" "extraVolumeMounts") }}
{{ . }}
{{- end }}
{{- range $profile, $_ := .root.Values.locks }}
- name: lock-{{ $profile }}
  mountPath: /weights/{{ $profile }}
  readOnly: true
{{- end }}
{{- end }}

{{/* Takes `root` and `own`. */}}
{{- define "planarena.siteVolumes" -}}
{{ include "planarena.scratchVolumes" .root }}
{{- include "planarena.caVolumes" .root }}
{{- with include "planarena.extra" (dict "root" .root "own" .own "of" "extraVolumes") }}
{{ . }}
{{- end }}
{{- range $profile, $_ := .root.Values.locks }}
- name: lock-{{ $profile }}
  configMap:
    name: planarena-lock-{{ $profile }}
{{- end }}
{{- end }}

{{/* Init containers: the private authority, and one that waits for the database and until the release's migrations have run. Takes
     `root`, `role` and `own`. */}}
{{- define "planarena.migrated" -}}
{{- with include "planarena.trusted" (dict "root" .root "of" "web") | trim }}
{{ . }}
{{- end }}
- name: migrated
  image: {{ include "planarena.image" (dict "root" .root "of" "web") }}
  command: [python, manage.py, wait_for_migrations]
  {{- include "planarena.siteEnvironment" . | nindent 2 }}
  {{- include "planarena.smallResources" . | nindent 2 }}
  {{- include "planarena.hardened" . | nindent 2 }}
  volumeMounts:
    {{- include "planarena.siteMounts" . | nindent 4 }}
{{- end }}

{{- define "planarena.smallResources" -}}
resources:
  requests: {cpu: 100m, memory: 512Mi, ephemeral-storage: 1Gi}
  limits: {memory: 512Mi, ephemeral-storage: 1Gi}
{{- end }}

{{/* A process that shows by a file that its own loop goes round, whatever is away. Takes `find`, the arguments of find. */}}
{{- define "planarena.fileProbes" -}}
startupProbe:
  exec:
    command: [sh, -c, {{ printf "find %s | grep -q ." .find | quote }}]
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 60
livenessProbe:
  exec:
    command: [sh, -c, {{ printf "find %s | grep -q ." .find | quote }}]
  periodSeconds: 30
  timeoutSeconds: 5
{{- end }}

{{/* The store of pods that read or write objects, unless it is a bucket. */}}
{{- define "planarena.storeMount" -}}
{{- if eq .Values.store.kind "volume" -}}
- name: store
  mountPath: /store
{{- end -}}
{{- end }}

{{- define "planarena.storeVolume" -}}
{{- if eq .Values.store.kind "volume" -}}
- name: store
  persistentVolumeClaim:
    claimName: {{ .Values.store.existingClaim | default "planarena-store" }}
{{- end -}}
{{- end }}
