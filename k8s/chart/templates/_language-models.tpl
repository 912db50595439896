{{/* Language models that the operator serves, for chat planners. */}}

{{/* One of them with its defaults, as JSON. Takes `root` and `model`. */}}
{{- define "planarena.languageModel" -}}
{{- $model := mustMergeOverwrite (deepCopy .root.Values.languageModelDefaults) (deepCopy .model) -}}
{{- if not $model.url -}}
{{- if not $model.model -}}
{{ fail (printf "languageModels: %s has neither model, for vLLM, nor url, of a service that is there." $model.name) }}
{{- end -}}
{{- if and (not (hasPrefix "/" $model.model)) (not $model.revision) -}}
{{ fail (printf "languageModels: %s is %s of a hub's cache without a revision: name the commit whose files are in the claim." $model.name $model.model) }}
{{- end -}}
{{- if not $model.claim -}}
{{ fail (printf "languageModels: %s needs a claim with the files of %s: its pods reach no hub." $model.name $model.model) }}
{{- end -}}
{{- range $model.arguments -}}
{{- if regexMatch "^-+trust" (toString .) -}}
{{ fail (printf "languageModels: %s sets %v in arguments: code of models is never run." $model.name .) }}
{{- end -}}
{{- end -}}
{{- if and (eq $model.scaling "keda") (not $model.prometheus) -}}
{{ fail (printf "languageModels: %s is scaled by keda, so prometheus must be the address of a Prometheus that reads its metrics." $model.name) }}
{{- end -}}
{{- if gt (int $model.least) (int $model.most) -}}
{{ fail (printf "languageModels: %s has at least %d pods and at most %d." $model.name (int $model.least) (int $model.most)) }}
{{- end -}}
{{- else if not $model.peers -}}
{{ fail (printf "languageModels: %s has a url, so peers must say which pods or addresses workers may reach." $model.name) }}
{{- end -}}
{{ toJson $model }}
{{- end }}

{{- define "planarena.languageModelName" -}}
planarena-llm-{{ .name }}
{{- end }}

{{/* The base address of each, separated by commas. */}}
{{- define "planarena.languageModelUrls" -}}
{{- $urls := list -}}
{{- range .Values.languageModels -}}
{{- $model := include "planarena.languageModel" (dict "root" $ "model" .) | fromJson -}}
{{- $own := printf "http://%s.%s.svc:8000/v1" (include "planarena.languageModelName" $model) $.Values.namespaces.jobs -}}
{{- $urls = append $urls ($model.url | default $own) -}}
{{- end -}}
{{ join "," $urls }}
{{- end }}

{{/* A pod with vLLM. Takes `root` and `model`. */}}
{{- define "planarena.languageModelPod" -}}
{{- $model := .model -}}
{{- $values := .root.Values -}}
automountServiceAccountToken: false
enableServiceLinks: false
# Requests that it has are answered first.
terminationGracePeriodSeconds: {{ int $model.graceSeconds }}
# It asks nobody.
dnsPolicy: None
dnsConfig:
  nameservers: [127.0.0.1]
{{- with $model.runtimeClass }}
runtimeClassName: {{ . }}
{{- end }}
{{- with $model.priorityClass | default (ternary (include "planarena.priorityClass" $values.priorityClasses.workers) "" $values.priorityClasses.create) }}
priorityClassName: {{ . }}
{{- end }}
{{- include "planarena.pullSecrets" .root }}
{{ include "planarena.user" 65533 }}
{{- include "planarena.placement" (dict "root" .root "own" $model "class" "cuda") }}
{{ include "planarena.spreadLabels" (dict "app.kubernetes.io/component" "language-model" "planarena.io/language-model" $model.name) }}
containers:
  - name: vllm
    image: {{ $model.image | default (include "planarena.image" (dict "root" .root "of" "vllm")) }}
    command:
      - vllm
      - serve
      - {{ $model.model | quote }}
      {{- with $model.revision }}
      - --revision
      - {{ . | quote }}
      {{- end }}
      - --served-model-name
      - {{ $model.servedName | default $model.name | quote }}
      - --port
      - "8000"
      - --load-format
      - safetensors
      {{- if gt (int $model.gpu.count) 1 }}
      - --tensor-parallel-size
      - {{ int $model.gpu.count | quote }}
      {{- end }}
      {{- range $model.arguments }}
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
      - {name: HF_HUB_CACHE, value: /models}
      {{- include "planarena.offline" . | nindent 6 }}
      {{- with include "planarena.extra" (dict "root" .root "own" $model "of" "extraEnv") }}
      {{- . | nindent 6 }}
      {{- end }}
    {{- include "planarena.poolResources" (dict "resources" $model.resources "gpu" $model.gpu "claim" "") | nindent 4 }}
    {{- include "planarena.hardened" .root | nindent 4 }}
    terminationMessagePolicy: FallbackToLogsOnError
    ports:
      - {name: http, containerPort: 8000}
    # It answers once the model is loaded and its graphs are captured.
    startupProbe:
      httpGet: &health
        path: /health
        port: http
      periodSeconds: 10
      timeoutSeconds: 5
      failureThreshold: {{ div (add (int $model.startupSeconds) 9) 10 }}
    readinessProbe:
      httpGet: *health
      periodSeconds: 5
      timeoutSeconds: 5
    # It fails when the engine has died, which does not end the process that listens.
    livenessProbe:
      httpGet: *health
      periodSeconds: 10
      timeoutSeconds: 10
      failureThreshold: 6
    lifecycle:
      # Requests still arrive for a moment after the pod was removed from the Service.
      preStop:
        sleep:
          seconds: 5
    volumeMounts:
      - {name: models, mountPath: /models, readOnly: true}
      - {name: tmp, mountPath: /tmp}
      - {name: shared-memory, mountPath: /dev/shm}
      {{- with include "planarena.extra" (dict "root" .root "own" $model "of" "extraVolumeMounts") }}
      {{- . | nindent 6 }}
      {{- end }}
volumes:
  {{- with include "planarena.extra" (dict "root" .root "own" $model "of" "extraVolumes") }}
  {{- . | nindent 2 }}
  {{- end }}
  - name: models
    persistentVolumeClaim:
      claimName: {{ $model.claim }}
      readOnly: true
  - name: tmp
    emptyDir:
      sizeLimit: {{ $model.resources.storage }}
  - name: shared-memory
    emptyDir:
      medium: Memory
      sizeLimit: {{ $model.sharedMemory }}
{{- end }}
