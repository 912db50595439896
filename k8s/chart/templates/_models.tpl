{{/* Model servers: they load submitted models, which workers never do. */}}

{{/* The bytes of a quantity such as 16Gi or 500M. */}}
{{- define "planarena.bytes" -}}
{{- $units := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- $number := regexFind "^[0-9.]+" (toString .) -}}
{{ mulf (float64 $number) (get $units (trimPrefix $number (toString .)) | float64) | int64 }}
{{- end }}

{{/* The container, up to its security context; it serves one worker after the other. Takes `root`, `pool`, `listen`, and
`receives`: it only takes the files, and another engine serves them. */}}
{{- define "planarena.modelServer" -}}
{{- $server := .pool.modelServer -}}
{{- $receives := default false .receives -}}
{{- $device := "cpu" -}}
{{- if or (gt (int $server.gpu.count) 0) (and .pool.gpu.claimTemplate (eq $server.kind "container")) -}}{{- $device = "cuda" -}}{{- end -}}
name: {{ ternary "receiver" "model-server" $receives }}
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
  {{- if $receives }}
  - --engine-control
  - /engine
  {{- else }}
  - --device
  - {{ $device }}
  {{- end }}
env:
  - {name: HOME, value: /tmp}
  # 90 % of the container's: its supervisor must outlive the model's process to say how it ended.
  - {name: PLANARENA_MODEL_MEMORY, value: "{{ mulf 0.9 (include "planarena.bytes" $server.resources.memory | float64) | int64 }}"}
  - {name: OMP_NUM_THREADS, value: "{{ max 1 (include "planarena.threads" $server.resources.cpu | int) }}"}
  {{- include "planarena.offline" . | nindent 2 }}
{{- if $receives }}
resources:
  requests: {cpu: "1", memory: 512Mi, ephemeral-storage: 64Mi}
  limits: {cpu: "1", memory: 512Mi, ephemeral-storage: 64Mi}
{{- else }}
{{ include "planarena.poolResources" (dict "resources" $server.resources "gpu" $server.gpu "claim" (and (eq $server.kind "container") .pool.gpu.claimTemplate)) }}
{{- end }}
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
    sizeLimit: {{ ternary "8Gi" "256Mi" (eq .pool.modelServer.engine "vllm") }}
{{- end }}

{{/* A pod that loads models. Takes `root` and `pool`. */}}
{{- define "planarena.modelPod" -}}
{{- $values := .root.Values -}}
{{- $server := .pool.modelServer -}}
{{- $isVllm := eq $server.engine "vllm" -}}
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
{{- include "planarena.placement" $server }}
{{ include "planarena.spreadLabels" (dict "app.kubernetes.io/component" "model-server" "planarena.io/pool" .pool.name) }}
{{- if $isVllm }}
initContainers:
  # Takes the model's files from a worker, and starts and stops the engine beside it.
  - {{ include "planarena.modelServer" (dict "root" .root "pool" .pool "listen" "0.0.0.0:7070" "receives" true) | nindent 4 | trim }}
    restartPolicy: Always
    {{- include "planarena.hardened" .root | nindent 4 }}
    ports:
      - {name: model, containerPort: 7070}
    volumeMounts:
      - {name: model, mountPath: /model}
      - {name: receiver-tmp, mountPath: /tmp}
      - {name: engine, mountPath: /engine}
{{- end }}
containers:
  # No probe: a connection counts as a worker.
  {{- if $isVllm }}
  - name: model-server
    image: {{ include "planarena.image" (dict "root" .root "of" "vllm") }}
    # As gpu_jobs/model_server/serving.py wants it: the engine runs while there is the file `serve`, and `running` says so. What
    # an earlier run of this container has left is over.
    command:
      - sh
      - -c
      - |
        ending=
        trap 'ending=yes' TERM
        if [ -e /engine/running ]; then rm -f /engine/serve; fi
        rm -f /engine/stopped
        while [ -z "$ending" ]; do
          # Neither processes nor files of one model are left for the next. Process 1: only in a container.
          if [ $$ -eq 1 ]; then
            kill -9 -1 2>/dev/null
            rm -rf /tmp/* /tmp/.[!.]* /dev/shm/*
          fi
          rm -f /engine/running
          until [ -e /engine/serve ]; do
            [ -z "$ending" ] || break 2
            sleep 1
          done
          touch /engine/running
          "$@" & engine=$!
          while [ -e /engine/serve ] && kill -0 $engine 2>/dev/null; do sleep 1; done
          kill $engine 2>/dev/null
          waited=0
          while kill -0 $engine 2>/dev/null && [ $waited -lt 30 ]; do sleep 1; waited=$((waited + 1)); done
          kill -9 $engine 2>/dev/null
          wait $engine
          rm -f /engine/serve
        done
        touch /engine/stopped
        rm -f /engine/running
      - engine
      - vllm
      - serve
      - /model
      - --host
      - 0.0.0.0
      - --port
      - "7071"
      - --served-model-name
      - planarena
      - --load-format
      - safetensors
      # Settings of the checkpoint's own would change what every call asks for.
      - --generation-config
      - vllm
      {{- range $server.arguments }}
      - {{ include "planarena.text" . | quote }}
      {{- end }}
    env:
      # Its user has no entry in the image's list of users, where libraries would look for a name.
      - {name: HOME, value: /tmp}
      - {name: USER, value: model}
      - {name: LOGNAME, value: model}
      {{- range list "XDG_CACHE_HOME" "VLLM_CACHE_ROOT" "TRITON_CACHE_DIR" "TORCHINDUCTOR_CACHE_DIR" "HF_HOME" }}
      - {name: {{ . }}, value: /tmp/{{ lower . }}}
      {{- end }}
      {{- include "planarena.offline" . | nindent 6 }}
    {{- include "planarena.poolResources" (dict "resources" $server.resources "gpu" $server.gpu "claim" "") | nindent 4 }}
    {{- include "planarena.hardened" .root | nindent 4 }}
    terminationMessagePolicy: FallbackToLogsOnError
    ports:
      - {name: engine, containerPort: 7071}
    volumeMounts:
      - {name: model, mountPath: /model, readOnly: true}
      - {name: engine, mountPath: /engine}
      - {name: model-tmp, mountPath: /tmp}
      - {name: shared-memory, mountPath: /dev/shm}
  {{- else }}
  - {{ include "planarena.modelServer" (dict "root" .root "pool" .pool "listen" "0.0.0.0:7070") | nindent 4 | trim }}
    {{- include "planarena.hardened" .root | nindent 4 }}
    ports:
      - {name: model, containerPort: 7070}
    volumeMounts:
      {{- include "planarena.modelMounts" . | nindent 6 }}
      - {name: shared-memory, mountPath: /dev/shm}
  {{- end }}
volumes:
  {{- include "planarena.modelVolumes" . | nindent 2 }}
  {{- if $isVllm }}
  - name: engine
    emptyDir:
      sizeLimit: 1Mi
  # Not the engine's: what runs there must not place files where the receiver's Python looks for modules.
  - name: receiver-tmp
    emptyDir:
      sizeLimit: 64Mi
  {{- end }}
  - name: shared-memory
    emptyDir:
      medium: Memory
      sizeLimit: {{ $server.sharedMemory }}
{{- end }}
