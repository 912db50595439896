{{/* Labels, images, security contexts, and what several templates need. */}}

{{- define "planarena.labels" -}}
app.kubernetes.io/name: planarena
app.kubernetes.io/part-of: planarena
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* Labels of pods: they say nothing that changes with every release, or every pod would be replaced. */}}
{{- define "planarena.podLabels" -}}
app.kubernetes.io/name: planarena
app.kubernetes.io/part-of: planarena
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* An image by digest; by tag only where that is allowed. Takes `root` and `of`, the image's name in the values. */}}
{{- define "planarena.image" -}}
{{- $image := index .root.Values.images .of -}}
{{- if $image.digest -}}
{{- if eq $image.digest (printf "sha256:%s" (repeat 64 "0")) }}{{ fail (printf "images.%s.digest: replace the zeros by the image's digest." .of) }}{{ end -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else if and $image.tag .root.Values.images.allowTags -}}
{{ $image.repository }}:{{ $image.tag }}
{{- else -}}
{{ fail (printf "images.%s.digest is not set: name the image by its digest, sha256:...; images.allowTags and images.%s.tag are for trying out." .of .of) }}
{{- end -}}
{{- end }}

{{- define "planarena.pullSecrets" -}}
{{- with .Values.images.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "planarena.hardened" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/* Of a pod. Takes the number of its user and group. */}}
{{- define "planarena.user" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ . }}
  runAsGroup: {{ . }}
  fsGroup: {{ . }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{/* Pods of one kind on different nodes, where there are several. Takes the component. */}}
{{- define "planarena.spread" -}}
{{ include "planarena.spreadLabels" (dict "app.kubernetes.io/component" .) }}
{{- end }}

{{/* The same. Takes the labels of the pods. */}}
{{- define "planarena.spreadLabels" -}}
topologySpreadConstraints:
{{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- toYaml $ | nindent 8 }}
{{- end }}
{{- end }}

{{/* The line `replicas` of a Deployment that an autoscaler owns. Omitted, Kubernetes would start one pod of each at the first
     installation, and would go back to one when an upgrade no longer has a number that an earlier one had. So it is what the cluster
     has now, or `first`. A renderer without a cluster (`helm template`) omits it. Takes `root`, `namespace`, `name` and `first`. */}}
{{- define "planarena.scaledReplicas" -}}
{{- $found := lookup "apps/v1" "Deployment" .namespace .name -}}
{{- $hasCluster := lookup "v1" "Namespace" "" "kube-system" -}}
{{ include "planarena.replicasOf" (dict "found" $found "hasCluster" $hasCluster "first" .first) }}
{{- end }}

{{- define "planarena.replicasOf" -}}
{{- if .found -}}
replicas: {{ int .found.spec.replicas }}
{{- else if .hasCluster -}}
replicas: {{ int .first }}
{{- end -}}
{{- end }}

{{/* What a drain of nodes may end. Where it would have to leave all pods running, no drain would end: then one at a time. Takes
     `replicas` and `minAvailable`. */}}
{{- define "planarena.budget" -}}
{{- if gt (int .replicas) (int .minAvailable) -}}
minAvailable: {{ int .minAvailable }}
{{- else -}}
maxUnavailable: 1
{{- end -}}
{{- end }}

{{/* Where pods are placed: a node pool of the values, then the workload's own. Takes `root`, `own` (values of the workload) and `class`
     (the node pool, unless own.nodePool names another). */}}
{{- define "planarena.placement" -}}
{{- $name := .own.nodePool | default .class -}}
{{- $pool := get .root.Values.nodePools $name -}}
{{- if not (hasKey .root.Values.nodePools $name) }}{{ fail (printf "nodePool %s is not in nodePools, which has %s." $name (keys .root.Values.nodePools | sortAlpha | join ", ")) }}{{ end -}}
{{- with merge dict (.own.nodeSelector | default dict) ($pool.nodeSelector | default dict) }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with concat ($pool.tolerations | default list) (.own.tolerations | default list) | uniq }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .own.affinity | default $pool.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What the values add to the pods of a workload, as JSON: podDefaults, then its own. Takes `root`, `own` (values of the workload) and
     `confined`: its pods run code of strangers, so they get no variable and no volume but their own. */}}
{{- define "planarena.additions" -}}
{{- $all := .root.Values.podDefaults -}}
{{- $own := .own -}}
{{- $lists := dict -}}
{{- range list "extraEnv" "extraVolumes" "extraVolumeMounts" -}}
{{- $_ := set $lists . (concat (ternary list (get $all . | default list) (eq $.confined true)) (get $own . | default list)) -}}
{{- end -}}
{{- range list "podLabels" "podAnnotations" -}}
{{- $_ := set $lists . (merge dict (get $own . | default dict) (get $all . | default dict)) -}}
{{- end -}}
{{ toJson $lists }}
{{- end }}

{{/* Lines of one of the lists of planarena.additions. Takes `of`, its name, and what planarena.additions takes. */}}
{{- define "planarena.extra" -}}
{{- with get (include "planarena.additions" . | fromJson) .of }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{/* Labels and annotations of pods. Takes `component` and what planarena.additions takes; `labels` and `annotations`: further lines. */}}
{{- define "planarena.podMetadata" -}}
{{- $added := include "planarena.additions" . | fromJson -}}
labels:
  {{- include "planarena.podLabels" . | nindent 2 }}
  {{- with .labels | default "" | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with $added.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- $own := .annotations | default "" | trim }}
{{- if or $own $added.podAnnotations }}
annotations:
  {{- with $own }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with $added.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The scheme of the site's public address. */}}
{{- define "planarena.scheme" -}}
{{- $gateway := and .Values.gateway.enabled (not .Values.ingress.enabled) -}}
{{ ternary "https" "http" (ternary .Values.gateway.https (ne .Values.ingress.tlsSecret "") $gateway) }}
{{- end }}

{{/* The Service of the site's pages, for Ingress and HTTPRoute. */}}
{{- define "planarena.pagesService" -}}
{{ ternary "planarena-page-cache" "planarena-web" .Values.pageCache.enabled }}
{{- end }}

{{/* The ConfigMap of the private certificate authority; empty without one. */}}
{{- define "planarena.privateCa" -}}
{{- with .Values.privateCA -}}
{{- if and .certificates .configMap }}{{ fail "privateCA has both certificates and configMap: give one of them." }}{{ end -}}
{{- if .certificates }}planarena-private-ca{{ else }}{{ .configMap }}{{ end -}}
{{- end -}}
{{- end }}

{{/* Variables by which libpq, boto3, OpenSSL and requests trust it. */}}
{{- define "planarena.caVariables" -}}
{{- if include "planarena.privateCa" . }}
{{- range list "SSL_CERT_FILE" "REQUESTS_CA_BUNDLE" "AWS_CA_BUNDLE" "PGSSLROOTCERT" }}
{{ . }}: /trusted/ca.crt
{{- end }}
{{- end }}
{{- end }}

{{/* An init container: writes the public authorities of the image and the private one into one file. Takes `root` and `of`, the image. */}}
{{- define "planarena.trusted" -}}
{{- if include "planarena.privateCa" .root }}
- name: trusted
  image: {{ include "planarena.image" . }}
  command: [sh, -ec, "{ cat /etc/ssl/certs/ca-certificates.crt; echo; cat /private-ca/ca.crt; } > /trusted/ca.crt"]
  resources:
    requests: {cpu: 10m, memory: 16Mi, ephemeral-storage: 16Mi}
    limits: {memory: 64Mi, ephemeral-storage: 16Mi}
  {{- include "planarena.hardened" .root | nindent 2 }}
  volumeMounts:
    - {name: private-ca, mountPath: /private-ca, readOnly: true}
    - {name: trusted, mountPath: /trusted}
{{- end }}
{{- end }}

{{- define "planarena.caMounts" -}}
{{- if include "planarena.privateCa" . }}
- {name: trusted, mountPath: /trusted, readOnly: true}
{{- end }}
{{- end }}

{{- define "planarena.caVolumes" -}}
{{- with include "planarena.privateCa" . }}
- name: private-ca
  configMap:
    name: {{ . }}
- name: trusted
  emptyDir:
    sizeLimit: 8Mi
{{- end }}
{{- end }}

{{- define "planarena.sitePriority" -}}
{{- if .Values.priorityClasses.create }}
priorityClassName: {{ include "planarena.priorityClass" .Values.priorityClasses.site }}
{{- end }}
{{- end }}

{{/* Ports as text: 80,443,1024-65535. Takes `ports` and `separator`. */}}
{{- define "planarena.ports" -}}
{{- $parts := list -}}
{{- range .ports -}}
{{- if kindIs "slice" . -}}
{{- $parts = append $parts (printf "%d-%d" (int (index . 0)) (int (index . 1))) -}}
{{- else -}}
{{- $parts = append $parts (printf "%d" (int .)) -}}
{{- end -}}
{{- end -}}
{{ join .separator $parts }}
{{- end }}

{{- define "planarena.webHost" -}}
planarena-web.{{ .Release.Namespace }}.svc
{{- end }}

{{/* What the site and its workers are told about calls to other people's servers. */}}
{{- define "planarena.egress" -}}
PLANARENA_EGRESS_PORTS: {{ include "planarena.ports" (dict "ports" .Values.egress.ports "separator" ",") | quote }}
{{- if eq .Values.egress.mode "proxy" }}
PLANARENA_EGRESS_PROXY: http://planarena-egress-proxy.{{ .Values.namespaces.egress }}.svc:3128
NO_PROXY: {{ join "," .Values.egress.noProxy | quote }}
{{- end }}
{{- with include "planarena.languageModelUrls" . }}
PLANARENA_OWN_MODELS: {{ . | quote }}
{{- end }}
{{- end }}

{{/* The value of a class cannot be changed: another value makes another class. */}}
{{- define "planarena.priorityClass" -}}
{{ .name }}-{{ int .value | toString | replace "-" "minus" }}
{{- end }}

{{/* A value as text; large whole numbers would otherwise become 1e+07. */}}
{{- define "planarena.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ toString . }}{{ end -}}
{{- end }}

{{/* Where traces go, for the site and its workers. The headers are in a Secret. */}}
{{- define "planarena.tracing" -}}
{{- with .Values.tracing }}
{{- if .endpoint }}
OTEL_EXPORTER_OTLP_ENDPOINT: {{ .endpoint | quote }}
OTEL_TRACES_SAMPLER: parentbased_traceidratio
OTEL_TRACES_SAMPLER_ARG: {{ toString .ratio | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* Names of Secrets whose keys are variables: `given`, and that of the headers of traces. */}}
{{- define "planarena.secretRefs" -}}
{{- $secrets := .given }}
{{- with .root.Values.tracing }}
{{- if and .endpoint .headersSecret }}{{ $secrets = append $secrets .headersSecret }}{{ end }}
{{- end }}
{{- range $secrets }}
- secretRef:
    name: {{ . }}
{{- end }}
{{- end }}
