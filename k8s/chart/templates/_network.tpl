{{/* Parts of NetworkPolicies. */}}

{{/* Head of a policy. Takes `root`, `name`, `namespace`. */}}
{{- define "planarena.policy" -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
  labels:
    {{- include "planarena.labels" .root | nindent 4 }}
{{- end }}

{{- define "planarena.denyAll" -}}
{{ include "planarena.policy" (dict "root" .root "name" "default-deny" "namespace" .namespace) }}
spec:
  podSelector: {}
  policyTypes: [Ingress, Egress]
{{- end }}

{{- define "planarena.components" -}}
matchExpressions:
  - key: app.kubernetes.io/component
    operator: In
    values: {{ toJson . }}
{{- end }}

{{/* Pods of another namespace, as a peer. Takes `namespace` and `component`. */}}
{{- define "planarena.podsOf" -}}
- namespaceSelector:
    matchLabels:
      kubernetes.io/metadata.name: {{ .namespace }}
  podSelector:
    matchLabels:
      app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* A list of ports and ranges. */}}
{{- define "planarena.policyPorts" -}}
{{- range . }}
{{- if kindIs "slice" . }}
- {port: {{ int (index . 0) }}, endPort: {{ int (index . 1) }}, protocol: TCP}
{{- else }}
- {port: {{ int . }}, protocol: TCP}
{{- end }}
{{- end }}
{{- end }}

{{- define "planarena.dnsRule" -}}
- to:
    {{- toYaml .Values.network.dns.peers | nindent 4 }}
  ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
{{- end }}

{{/* Public addresses: outside every network that IANA's registries of special purposes name. */}}
{{- define "planarena.publicPeers" -}}
- ipBlock:
    cidr: 0.0.0.0/0
    except:
      - 0.0.0.0/8
      - 10.0.0.0/8
      - 100.64.0.0/10
      - 127.0.0.0/8
      - 169.254.0.0/16
      - 172.16.0.0/12
      - 192.0.0.0/24
      - 192.0.2.0/24
      - 192.31.196.0/24
      - 192.52.193.0/24
      - 192.88.99.0/24
      - 192.168.0.0/16
      - 192.175.48.0/24
      - 198.18.0.0/15
      - 198.51.100.0/24
      - 203.0.113.0/24
      - 224.0.0.0/4
      - 240.0.0.0/4
- ipBlock:
    cidr: 2000::/3
    except:
      - 2001::/23
      - 2001:db8::/32
      - 2002::/16
      - 2620:4f:8000::/48
      - 3fff::/20
{{- end }}

{{- define "planarena.privatePeers" -}}
- ipBlock: {cidr: 10.0.0.0/8}
- ipBlock: {cidr: 100.64.0.0/10}
- ipBlock: {cidr: 172.16.0.0/12}
- ipBlock: {cidr: 192.168.0.0/16}
- ipBlock: {cidr: fc00::/7}
{{- end }}

{{/* An egress rule of a way to public addresses. Takes `root`, `way` (of network.to), and `worker`: of a worker. */}}
{{- define "planarena.publicRule" -}}
{{- $egress := .root.Values.egress -}}
{{- $ports := .way.ports | default $egress.ports -}}
{{- if .way.peers }}
- to:
    {{- toYaml .way.peers | nindent 4 }}
  ports:
    {{- include "planarena.policyPorts" $ports | nindent 4 }}
{{- else if eq $egress.mode "proxy" }}
- to:
    {{- include "planarena.podsOf" (dict "namespace" .root.Values.namespaces.egress "component" "egress-proxy") | nindent 4 }}
  ports:
    - {port: 3128, protocol: TCP}
{{- else if and .worker (eq $egress.mode "gateway") }}
- to:
    {{- include "planarena.podsOf" (dict "namespace" .root.Values.namespaces.egress "component" "egress-gateway") | nindent 4 }}
  ports:
    {{- include "planarena.policyPorts" $ports | nindent 4 }}
{{- else }}
- to:
    {{- include "planarena.publicPeers" . | nindent 4 }}
  ports:
    {{- include "planarena.policyPorts" $ports | nindent 4 }}
{{- end }}
{{- end }}

{{/* An egress rule to a service; without peers to any address. */}}
{{- define "planarena.serviceRule" -}}
- ports:
    {{- include "planarena.policyPorts" .ports | nindent 4 }}
  {{- with .peers }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
