{{/* Model servers: they load submitted models, which workers never do. */}}

{{/* The bytes of a quantity such as 16Gi or 500M. */}}
{{- define "planarena.bytes" -}}
{{- $units := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- $number := regexFind "^[0-9.]+" (toString .) -}}
{{ mulf (float64 $number) (get $units (trimPrefix $number (toString .)) | float64) | int64 }}
{{- end }}

{{/* The container, up to its security context; it serves one worker after the other. Takes `root`, `pool` and `listen`. */}}
{{- define "planarena.modelServer" -}}
{{- $server := .pool.modelServer -}}
{{- $device := "cpu" -}}
{{- if or (gt (int $server.gpu.count) 0) (and .pool.gpu.claimTemplate (eq $server.kind "container")) -}}{{- $device = "cuda" -}}{{- end -}}
name: model-server
image: {{ include "planarena.image" (dict "root" .root "of" "worker") }}
command:
  - python
  - -m
  - gpu_jobs.model_server.serving
  - --listen
  - {{ .listen | quote }}
  - --folder
  - /model
  - --most
  - {{ include "planarena.bytes" $server.resources.storage | quote }}
  - --device
  - {{ $device }}
env:
  - {name: HOME, value: /tmp}
  {{- if and .root.Values.monitoring.podMonitor.enabled (eq $server.kind "pod") }}
  - {name: PLANARENA_WORKER_METRICS_PORT, value: "9100"}
  {{- end }}
  # 90 % of the container's: its supervisor must outlive the model's process to say how it ended.
  - {name: PLANARENA_MODEL_MEMORY, value: "{{ mulf 0.9 (include "planarena.bytes" $server.resources.memory | float64) | int64 }}"}
  - {name: OMP_NUM_THREADS, value: "{{ max 1 (include "planarena.threads" $server.resources.cpu | int) }}"}
  {{- include "planarena.offline" . | nindent 2 }}
  {{- with include "planarena.extra" (dict "root" .root "own" $server "confined" true "of" "extraEnv") }}
  {{- . | nindent 2 }}
  {{- end }}
{{ include "planarena.poolResources" (dict "resources" $server.resources "gpu" $server.gpu "claim" (and (eq $server.kind "container") .pool.gpu.claimTemplate)) }}
terminationMessagePolicy: FallbackToLogsOnError
{{- end }}

{{/* Whole processors of a quantity such as 4 or 1500m. */}}
{{- define "planarena.threads" -}}
{{- $text := toString . -}}
{{- if hasSuffix "m" $text }}{{ div (trimSuffix "m" $text | int) 1000 }}{{ else }}{{ float64 $text | int }}{{ end -}}
{{- end }}

{{- define "planarena.offline" -}}
{{- range list "HF_HUB_OFFLINE" "TRANSFORMERS_OFFLINE" "HF_HUB_DISABLE_TELEMETRY" "VLLM_NO_USAGE_STATS" "VLLM_DO_NOT_TRACK" "DO_NOT_TRACK" }}
- {name: {{ . }}, value: "1"}
{{- end }}
{{- end }}

{{- define "planarena.modelMounts" -}}
- {name: model, mountPath: /model}
- {name: model-tmp, mountPath: /tmp}
{{- end }}

{{- define "planarena.modelVolumes" -}}
- name: model
  emptyDir:
    sizeLimit: {{ .pool.modelServer.resources.storage }}
- name: model-tmp
  emptyDir:
    sizeLimit: 256Mi
{{- end }}

{{/* A pod that loads models. Takes `root` and `pool`. */}}
{{- define "planarena.modelPod" -}}
{{- $values := .root.Values -}}
{{- $server := .pool.modelServer -}}
automountServiceAccountToken: false
enableServiceLinks: false
# It ends when the worker that it serves is done.
terminationGracePeriodSeconds: {{ int $server.graceSeconds }}
# It asks nobody, and the name servers of the cluster or node would stand in a file.
dnsPolicy: None
dnsConfig:
  nameservers: [127.0.0.1]
{{- with $server.runtimeClass }}
runtimeClassName: {{ . }}
{{- end }}
{{- with .pool.priorityClass | default (ternary (include "planarena.priorityClass" $values.priorityClasses.workers) "" $values.priorityClasses.create) }}
priorityClassName: {{ . }}
{{- end }}
{{- include "planarena.pullSecrets" .root }}
# Not the worker's.
{{ include "planarena.user" 65533 }}
{{- include "planarena.placement" (dict "root" .root "own" $server "class" (ternary "cuda" "cpu" (gt (int $server.gpu.count) 0))) }}
{{ include "planarena.spreadLabels" (dict "app.kubernetes.io/component" "model-server" "planarena.io/pool" .pool.name) }}
containers:
  # No probe: a connection counts as a worker.
  - {{ include "planarena.modelServer" (dict "root" .root "pool" .pool "listen" "0.0.0.0:7070") | nindent 4 | trim }}
    {{- include "planarena.hardened" .root | nindent 4 }}
    ports:
      - {name: model, containerPort: 7070}
      {{- with include "planarena.metricsPorts" (dict "root" .root "count" 1) | trim }}
      {{- . | nindent 6 }}
      {{- end }}
    volumeMounts:
      {{- include "planarena.modelMounts" . | nindent 6 }}
      {{- with include "planarena.extra" (dict "root" .root "own" $server "confined" true "of" "extraVolumeMounts") }}
      {{- . | nindent 6 }}
      {{- end }}
      - {name: shared-memory, mountPath: /dev/shm}
volumes:
  {{- include "planarena.modelVolumes" . | nindent 2 }}
  {{- with include "planarena.extra" (dict "root" .root "own" $server "confined" true "of" "extraVolumes") }}
  {{- . | nindent 2 }}
  {{- end }}
  - name: shared-memory
    emptyDir:
      medium: Memory
      sizeLimit: {{ $server.sharedMemory }}
{{- end }}
