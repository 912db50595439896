{{/* Pools of workers, with what they have from poolDefaults. */}}

{{/* One pool with its defaults, as JSON. Takes `root` and `pool`. */}}
{{- define "planarena.pool" -}}
{{- $pool := mustMergeOverwrite (deepCopy .root.Values.poolDefaults) (deepCopy .pool) -}}
{{- if kindIs "invalid" $pool.maxSurge -}}{{- $_ := set $pool "maxSurge" (ternary 0 1 (or (eq $pool.device "cuda") (ne $pool.gpu.claimTemplate ""))) -}}{{- end -}}
{{- $server := $pool.modelServer -}}
{{- if kindIs "invalid" $server.maxSurge -}}{{- $_ := set $server "maxSurge" (ternary 0 1 (gt (int $server.gpu.count) 0)) -}}{{- end -}}
{{- if not $pool.resources.memory -}}
{{- /* Each worker process of the pod loads experts of its own; /dev/shm counts as memory. */ -}}
{{- $needs := .root.Files.Get "files/host-memory.yaml" | fromYaml -}}
{{- $need := get $needs (ternary $pool.profile "judged" (has "executed" $pool.takes)) -}}
{{- if not $need }}{{ fail (printf "pools: %s executes with the profile %s, whose needs are not known: give resources.memory (`planarena profiles memory`)." $pool.name $pool.profile) }}{{ end -}}
{{- $shared := div (add (include "planarena.bytes" $pool.sharedMemory | int64) 1073741823) 1073741824 -}}
{{- $_ := set $pool.resources "memory" (printf "%dGi" (add (mul (index $need $pool.device | int64) (include "planarena.workersOfPod" $pool | int64)) $shared)) -}}
{{- end -}}
{{ toJson $pool }}
{{- end }}

{{/* Says what is wrong about a pool beyond what the schema can. */}}
{{- define "planarena.checkPool" -}}
{{- $server := .modelServer -}}
{{- if and (not (has "executed" .takes)) (not (has "judged" .takes)) -}}
{{ fail (printf "pools: %s takes models and no suites: add executed, judged or both to `takes`." .name) }}
{{- end -}}
{{- if and (has "models" .takes) (eq $server.kind "none") -}}
{{ fail (printf "pools: %s takes models, so its modelServer.kind must be container or pod." .name) }}
{{- end -}}
{{- if and .offline (has "models" .takes) (not .modelsClaim) -}}
{{ fail (printf "pools: %s is offline and takes models, so modelsClaim must name the claim that has them." .name) }}
{{- end -}}
{{- if and .gpu.claimTemplate (gt (int .gpu.count) 0) -}}
{{ fail (printf "pools: %s has both gpu.count and gpu.claimTemplate: give one of them." .name) }}
{{- end -}}
{{- if and (eq .device "cuda") (not .gpu.claimTemplate) (eq (int .gpu.count) 0) -}}
{{ fail (printf "pools: %s has the device cuda, so gpu.count or gpu.claimTemplate must say which GPUs." .name) }}
{{- end -}}
{{- $workers := include "planarena.workersOfPod" . | int -}}
{{- if and (gt $workers 1) (eq $server.kind "container") -}}
{{ fail (printf "pools: %s has %d workers in a pod (gpu.count), and a model server in the same pod would serve one of them: set modelServer.kind to pod." .name $workers) }}
{{- end -}}
{{- if gt (int $server.gpu.count) 1 -}}
{{ fail (printf "pools: %s has modelServer.gpu.count %d, and a model server uses one GPU: raise modelServer.most for more servers." .name (int $server.gpu.count)) }}
{{- end -}}
{{- if and (eq .scaling "none") (gt (mul (int .replicas) $workers) (int64 .most)) -}}
{{ fail (printf "pools: %s has %d replicas%s, more than its most of %d." .name (int .replicas) (ternary (printf " of %d workers" $workers) "" (gt $workers 1)) (int .most)) }}
{{- end -}}
{{- end }}

{{/* Workers in a pod of a pool: one process for each GPU. A slice of a GPU counts as one. */}}
{{- define "planarena.workersOfPod" -}}
{{ ternary (max 1 (int .gpu.count)) 1 (eq .device "cuda") }}
{{- end }}

{{/* What the site is told, as JSON. */}}
{{- define "planarena.poolsForTheSite" -}}
{{- $pools := list -}}
{{- $names := list -}}
{{- range .Values.pools -}}
{{- $pool := include "planarena.pool" (dict "root" $ "pool" .) | fromJson -}}
{{- include "planarena.checkPool" $pool -}}
{{- if has $pool.name $names }}{{ fail (printf "pools: two are named %s." $pool.name) }}{{ end -}}
{{- $names = append $names $pool.name -}}
{{- $pools = append $pools (dict "name" $pool.name "device" $pool.device "takes" $pool.takes "endpoints" $pool.endpoints "most" (int $pool.most)) -}}
{{- end -}}
{{ toJson $pools }}
{{- end }}

{{/* Whether KEDA scales some pool. */}}
{{- define "planarena.withKeda" -}}
{{- $found := "" -}}
{{- range .Values.pools -}}
{{- $pool := include "planarena.pool" (dict "root" $ "pool" .) | fromJson -}}
{{- if eq $pool.scaling "keda" }}{{ $found = "yes" }}{{ end -}}
{{- end -}}
{{ $found }}
{{- end }}

{{/* Kueue admits each pod with this label; its integration for Deployments looks for it there and copies it. */}}
{{- define "planarena.queueLabels" -}}
{{- with .queue }}
kueue.x-k8s.io/queue-name: {{ . }}
{{- end }}
{{- with .queuePriority }}
kueue.x-k8s.io/priority-class: {{ . }}
{{- end }}
{{- end }}

{{/* Whether a pool's pods call public addresses: endpoints, and models of the hub unless there is a mirror. */}}
{{- define "planarena.goesOut" -}}
{{- if or .pool.endpoints (and (has "models" .pool.takes) (not .root.Values.modelMirror) (not .pool.offline)) }}yes{{ end -}}
{{- end }}

{{/* Ports of metrics, one for each worker process. Takes `root` and `count`. */}}
{{- define "planarena.metricsPorts" -}}
{{- if .root.Values.monitoring.podMonitor.enabled }}
{{- range $number := until (int .count) }}
- {name: metrics-{{ $number }}, containerPort: {{ add 9100 $number }}}
{{- end }}
{{- end }}
{{- end }}

{{/* The most worker processes of a pod of any pool. */}}
{{- define "planarena.mostMetricsPorts" -}}
{{- $most := 1 -}}
{{- range .Values.pools -}}
{{- $most = max $most (include "planarena.workersOfPod" (include "planarena.pool" (dict "root" $ "pool" .) | fromJson) | int) -}}
{{- end -}}
{{ $most }}
{{- end }}

{{/* Resources of a container. Takes `resources` (cpu, memory, storage), `gpu` (resource, count) and `claim`. */}}
{{- define "planarena.poolResources" -}}
resources:
  requests:
    cpu: {{ .resources.cpu | quote }}
    {{- include "planarena.poolAmounts" . | nindent 4 }}
  # No limit on the CPU: throttled threads would only hold the GPU for longer.
  limits:
    {{- include "planarena.poolAmounts" . | nindent 4 }}
  {{- if .claim }}
  claims:
    - name: gpu
  {{- end }}
{{- end }}

{{- define "planarena.poolAmounts" -}}
memory: {{ .resources.memory | quote }}
ephemeral-storage: {{ .resources.storage | quote }}
{{- if gt (int .gpu.count) 0 }}
{{ .gpu.resource }}: {{ int .gpu.count | quote }}
{{- end }}
{{- end }}

{{/* A worker's pod. Takes `root` and `pool`. */}}
{{- define "planarena.workerPod" -}}
{{- $pool := .pool -}}
{{- $values := .root.Values -}}
serviceAccountName: planarena-worker
automountServiceAccountToken: false
# Or the addresses of all Services of the namespace would stand in the environment.
enableServiceLinks: false
# The worker's last words take up to 20 seconds, and loading an expert may delay the signal.
terminationGracePeriodSeconds: 45
{{- with $pool.priorityClass | default (ternary (include "planarena.priorityClass" $values.priorityClasses.workers) "" $values.priorityClasses.create) }}
priorityClassName: {{ . }}
{{- end }}
{{- with $pool.runtimeClass }}
runtimeClassName: {{ . }}
{{- end }}
{{- include "planarena.pullSecrets" .root }}
{{ include "planarena.user" 65532 }}
{{- include "planarena.placement" (dict "root" .root "own" $pool "class" $pool.device) }}
{{ include "planarena.spreadLabels" (dict "app.kubernetes.io/component" "worker" "planarena.io/pool" $pool.name) }}
{{- with $pool.gpu.claimTemplate }}
resourceClaims:
  - name: gpu
    resourceClaimTemplateName: {{ . }}
{{- end }}
{{- $trusted := include "planarena.trusted" (dict "root" .root "of" "worker") | trim }}
{{- if or $trusted (eq $pool.modelServer.kind "container") }}
initContainers:
{{- with $trusted }}
  {{- . | nindent 2 }}
{{- end }}
{{- end }}
{{- if eq $pool.modelServer.kind "container" }}
  # One that goes on running beside the worker.
  - {{ include "planarena.modelServer" (dict "root" .root "pool" $pool "listen" "unix:/model-socket/server") | nindent 4 | trim }}
    restartPolicy: Always
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities:
        drop: [ALL]
      # Not the worker's user.
      runAsUser: 65533
      runAsGroup: 65532
    volumeMounts:
      {{- include "planarena.modelMounts" . | nindent 6 }}
      {{- with include "planarena.extra" (dict "root" .root "own" $pool.modelServer "confined" true "of" "extraVolumeMounts") }}
      {{- . | nindent 6 }}
      {{- end }}
      - {name: model-shared-memory, mountPath: /dev/shm}
      - {name: model-socket, mountPath: /model-socket}
{{- end }}
containers:
  - name: worker
    image: {{ include "planarena.image" (dict "root" .root "of" "worker") }}
    command:
      - python
      - -m
      - gpu_jobs
      - worker
      - --name
      - $(POD_NAME)
      - --token-file
      - /run/planarena/enrolment/token
      {{- with $pool.store }}
      - --store
      - {{ . | quote }}
      {{- end }}
    env:
      - name: POD_NAME
        valueFrom:
          fieldRef:
            fieldPath: metadata.name
      {{- range $name, $value := include "planarena.workerEnvironment" . | fromYaml }}
      - name: {{ $name }}
        value: {{ toString $value | quote }}
      {{- end }}
      {{- with include "planarena.extra" (dict "root" .root "own" $pool "of" "extraEnv") }}
      {{- . | nindent 6 }}
      {{- end }}
    {{- with include "planarena.secretRefs" (dict "root" .root "given" $pool.envFrom) }}
    envFrom:
      {{- . | nindent 6 }}
    {{- end }}
    {{- include "planarena.poolResources" (dict "resources" $pool.resources "gpu" $pool.gpu "claim" $pool.gpu.claimTemplate) | nindent 4 }}
    {{- include "planarena.hardened" .root | nindent 4 }}
    {{- with include "planarena.metricsPorts" (dict "root" .root "count" (include "planarena.workersOfPod" $pool)) | trim }}
    ports:
      {{- . | nindent 6 }}
    {{- end }}
    # Until the worker has loaded its libraries. Later the site watches its heartbeats.
    startupProbe:
      exec:
        command: [test, -e, /tmp/alive]
      # A container that is started again in its pod removes first what the one before has left.
      initialDelaySeconds: 5
      periodSeconds: 5
      timeoutSeconds: 5
      failureThreshold: 60
    # Whether the site has opened a session for it. A rollout waits for that; nothing is sent to the pod.
    readinessProbe:
      exec:
        command: [test, -e, /tmp/ready]
      periodSeconds: 5
      timeoutSeconds: 5
    # The last lines of the log stay with the pod's status when it fails.
    terminationMessagePolicy: FallbackToLogsOnError
    volumeMounts:
      {{- include "planarena.scratchMounts" .root | nindent 6 }}
      {{- with include "planarena.caMounts" .root | trim }}
      {{- . | nindent 6 }}
      {{- end }}
      {{- with include "planarena.extra" (dict "root" .root "own" $pool "of" "extraVolumeMounts") }}
      {{- . | nindent 6 }}
      {{- end }}
      - {name: shared-memory, mountPath: /dev/shm}
      - {name: enrolment, mountPath: /run/planarena/enrolment, readOnly: true}
      {{- if $pool.weightsClaim }}
      - {name: weights, mountPath: /weights, readOnly: true}
      {{- end }}
      {{- if $pool.modelsClaim }}
      - {name: models, mountPath: /data/worker-models}
      {{- end }}
      {{- if eq $pool.modelServer.kind "container" }}
      - {name: model-socket, mountPath: /model-socket}
      {{- end }}
volumes:
  {{- with include "planarena.caVolumes" .root | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with include "planarena.extra" (dict "root" .root "own" $pool "of" "extraVolumes") }}
  {{- . | nindent 2 }}
  {{- end }}
  - name: data
    emptyDir:
      sizeLimit: {{ $pool.resources.storage }}
  - name: tmp
    emptyDir:
      sizeLimit: 1Gi
  - name: shared-memory
    emptyDir:
      medium: Memory
      sizeLimit: {{ $pool.sharedMemory }}
  # The site writes the token when the pool is first needed; the worker waits for the file.
  - name: enrolment
    secret:
      secretName: planarena-pool-{{ $pool.name }}
      optional: true
      # Readable for the group, which is the worker's.
      defaultMode: 0440
  {{- with $pool.weightsClaim }}
  - name: weights
    persistentVolumeClaim:
      claimName: {{ . }}
      readOnly: true
  {{- end }}
  {{- with $pool.modelsClaim }}
  - name: models
    persistentVolumeClaim:
      claimName: {{ . }}
  {{- end }}
  {{- if eq $pool.modelServer.kind "container" }}
  {{- include "planarena.modelVolumes" . | nindent 2 }}
  {{- with include "planarena.extra" (dict "root" .root "own" $pool.modelServer "confined" true "of" "extraVolumes") }}
  {{- . | nindent 2 }}
  {{- end }}
  - name: model-shared-memory
    emptyDir:
      medium: Memory
      sizeLimit: {{ $pool.modelServer.sharedMemory }}
  - name: model-socket
    emptyDir:
      medium: Memory
      sizeLimit: 1Mi
  {{- end }}
{{- end }}

{{- define "planarena.workerEnvironment" -}}
{{- $values := .root.Values -}}
{{- $server := .pool.modelServer -}}
PLANARENA_API_URL: http://{{ include "planarena.webHost" .root }}:8000
PLANARENA_DATA: /data
PLANARENA_ALIVE_FILE: /tmp/alive
PLANARENA_READY_FILE: /tmp/ready
PLANARENA_DEVICE: {{ .pool.device }}
{{- if $values.monitoring.podMonitor.enabled }}
PLANARENA_WORKER_METRICS_PORT: "9100"
{{- end }}
# Libraries write caches into the home folder, and the root file system is read-only.
HOME: /data
{{- if .pool.weightsClaim }}
PLANARENA_WEIGHTS: /weights
{{- end }}
{{- with .pool.modelsLimit }}
PLANARENA_MODEL_LIMIT: {{ . | quote }}
{{- end }}
{{- with .pool.memoryBudget }}
PLANARENA_MEMORY_BUDGET: {{ . | quote }}
{{- end }}
{{- with .pool.storeLimit }}
PLANARENA_STORE_LIMIT: {{ . | quote }}
{{- end }}
{{- with .pool.storeEndpoint }}
PLANARENA_S3_ENDPOINT: {{ . | quote }}
{{- end }}
{{- with $values.modelMirror }}
HF_ENDPOINT: {{ . | quote }}
{{- end }}
{{- if .pool.offline }}
HF_HUB_OFFLINE: "1"
TRANSFORMERS_OFFLINE: "1"
{{- end }}
{{- if $values.programs.enabled }}
PLANARENA_PROGRAMS: planarena-programs.{{ $values.namespaces.jobs }}.svc:7071
{{- end }}
{{- if eq $server.kind "container" }}
PLANARENA_MODEL_SERVER: unix:/model-socket/server
{{- else if eq $server.kind "pod" }}
PLANARENA_MODEL_SERVER: planarena-models-{{ .pool.name }}.{{ $values.namespaces.jobs }}.svc:7070
{{- end }}
{{ include "planarena.egress" .root }}
{{ include "planarena.tracing" .root }}
{{ include "planarena.caVariables" .root }}
{{- with index $values.settings "PLANARENA_LOG_FORMAT" }}
PLANARENA_LOG_FORMAT: {{ . | quote }}
{{- end }}
{{- range $name, $value := .pool.env }}
{{ $name }}: {{ include "planarena.text" $value | quote }}
{{- end }}
{{- end }}
