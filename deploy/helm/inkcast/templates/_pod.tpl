{{/*
The pod of a role. Arguments: root, role, values, command (list), ports (name: number), env (list of extra entries).
*/}}
{{- define "inkcast.pod" -}}
{{- $root := .root -}}
metadata:
  labels:
    {{- include "inkcast.labels" . | nindent 4 }}
  annotations:
    # a changed setting replaces the pods
    checksum/settings: {{ toJson $root.Values.settings | sha256sum }}
    {{- with .values.annotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "inkcast.serviceAccount" $root }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with $root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  terminationGracePeriodSeconds: {{ include "inkcast.grace" . }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    seccompProfile: { type: RuntimeDefault }
    {{- with .values.sysctls }}
    sysctls:
      {{- toYaml . | nindent 6 }}
    {{- end }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "inkcast.selector" . | nindent 10 }}
    - maxSkew: 1
      topologyKey: topology.kubernetes.io/zone
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "inkcast.selector" . | nindent 10 }}
  {{- with .values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ .role }}
      image: {{ include "inkcast.image" $root }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      command: {{ toJson .command }}
      envFrom:
        - configMapRef: { name: {{ include "inkcast.name" $root }}-settings }
        - secretRef: { name: {{ $root.Values.existingSecret }} }
      env:
        - { name: HOST, value: "0.0.0.0" }
        - { name: API_HOST, value: "0.0.0.0" }
        - { name: ADMIN_HOST, value: "0.0.0.0" }
        - { name: ADMIN_PORT, value: "9100" }
        {{- with .env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- range $name, $value := .values.env }}
        - { name: {{ $name }}, value: {{ $value | quote }} }
        {{- end }}
      ports:
        {{- range $name, $port := .ports }}
        - { name: {{ $name }}, containerPort: {{ $port }} }
        {{- end }}
        - { name: admin, containerPort: 9100 }
      # the start waits for Redis, in ingest for Kafka as well (20 s at most), and a gateway worker rehearses handshakes
      startupProbe:
        httpGet: { path: /live, port: admin, scheme: {{ include "inkcast.adminScheme" . }} }
        periodSeconds: 2
        failureThreshold: 150
      # the process answers; a failure of Redis or Kafka is no reason to restart it
      livenessProbe:
        httpGet: { path: /live, port: admin, scheme: {{ include "inkcast.adminScheme" . }} }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /ready, port: admin, scheme: {{ include "inkcast.adminScheme" . }} }
        periodSeconds: 3
        timeoutSeconds: 3
        failureThreshold: 2
      {{- if .values.preStopSeconds }}
      # cordon: the pod is taken out of the endpoints meanwhile, and still accepts what balancers send. Then SIGTERM drains it
      lifecycle:
        preStop:
          exec: { command: ["sleep", "{{ .values.preStopSeconds }}"] }
      {{- end }}
      resources:
        {{- toYaml .values.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      volumeMounts:
        # unix sockets of the process
        - { name: tmp, mountPath: /tmp }
        {{- if $root.Values.files }}
        - { name: files, mountPath: /etc/inkcast, readOnly: true }
        {{- end }}
        {{- if $root.Values.filesSecret }}
        - { name: files-secret, mountPath: /etc/inkcast-secret, readOnly: true }
        {{- end }}
        {{- with (.values.tls | default dict).secretName }}
        - { name: tls, mountPath: /etc/inkcast-tls, readOnly: true }
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: { medium: Memory, sizeLimit: 16Mi }
    {{- if $root.Values.files }}
    - name: files
      configMap: { name: {{ include "inkcast.name" $root }}-files }
    {{- end }}
    {{- with $root.Values.filesSecret }}
    - name: files-secret
      secret: { secretName: {{ . }} }
    {{- end }}
    {{- with (.values.tls | default dict).secretName }}
    - name: tls
      secret: { secretName: {{ . }} }
    {{- end }}
{{- end }}

{{/* PodDisruptionBudget and HorizontalPodAutoscaler of a role. Arguments: root, role, values, kind. */}}
{{- define "inkcast.scale" -}}
{{- $name := printf "%s-%s" (include "inkcast.name" .root) .role -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "inkcast.labels" . | nindent 4 }}
spec:
  maxUnavailable: {{ .values.disruptionBudget.maxUnavailable }}
  # a pod that does not become ready must not keep a node from being drained
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "inkcast.selector" . | nindent 6 }}
{{- if .values.autoscaling.enabled }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "inkcast.labels" . | nindent 4 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: {{ .kind }}
    name: {{ $name }}
  minReplicas: {{ .values.autoscaling.minReplicas }}
  maxReplicas: {{ .values.autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target: { type: Utilization, averageUtilization: {{ .values.autoscaling.cpu }} }
    {{- with .values.autoscaling.connections }}
    - type: Pods
      pods:
        metric: { name: inkcast_connections }
        target: { type: AverageValue, averageValue: "{{ . }}" }
    {{- end }}
  behavior:
    scaleUp:
      stabilizationWindowSeconds: 30
      policies:
        - { type: Percent, value: 100, periodSeconds: 60 }
        - { type: Pods, value: 4, periodSeconds: 60 }
    # each pod that goes sends its clients to the others: slowly
    scaleDown:
      stabilizationWindowSeconds: 600
      policies:
        - { type: Pods, value: 1, periodSeconds: 120 }
{{- end }}
{{- end }}
