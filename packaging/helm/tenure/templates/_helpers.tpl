{{- define "tenure.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "tenure.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tenure.labels" -}}
{{ include "tenure.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "tenure.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "tenure.scheme" -}}
{{ ternary "HTTPS" "HTTP" (ne .Values.tls.existingSecret "") }}
{{- end }}

{{/* What the server and the init container share. */}}
{{- define "tenure.container" -}}
image: {{ include "tenure.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
env:
  - name: TENURE_CONFIG
    value: /etc/tenure/tenure.toml
  {{- if eq .Values.store.kind "postgresql" }}
  - name: TENURE_DATABASE_URL
    valueFrom:
      secretKeyRef:
        name: {{ .Values.store.postgresql.existingSecret }}
        key: {{ .Values.store.postgresql.secretKey }}
  {{- else }}
  - name: TENURE_DATA
    value: /var/lib/tenure/data
  {{- end }}
  {{- if .Values.tls.existingSecret }}
  - name: TENURE_TLS_CERTIFICATE
    value: /etc/tenure-tls/tls.crt
  - name: TENURE_TLS_KEY
    value: /etc/tenure-tls/tls.key
  {{- end }}
  {{- with .Values.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
  - name: config
    mountPath: /etc/tenure
    readOnly: true
  {{- if .Values.tls.existingSecret }}
  - name: tls
    mountPath: /etc/tenure-tls
    readOnly: true
  {{- end }}
  - name: data
    mountPath: /var/lib/tenure
  - name: tmp
    mountPath: /tmp
resources:
  {{- toYaml .Values.resources | nindent 2 }}
{{- end }}

{{/* The pod template of the Deployment and of the StatefulSet. */}}
{{- define "tenure.pod" -}}
metadata:
  labels:
    {{- include "tenure.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    checksum/config: {{ .Values.config | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- if .Values.auth.firstKey }}
  initContainers:
    - name: first-key
      command: [/usr/bin/tenure-first-key]
      {{- include "tenure.container" . | nindent 6 }}
  {{- end }}
  containers:
    - name: tenure
      args: [serve, --listen, "0.0.0.0:7117"]
      ports:
        - name: http
          containerPort: 7117
      startupProbe:
        httpGet: { path: /healthz, port: http, scheme: {{ include "tenure.scheme" . }} }
        periodSeconds: 2
        failureThreshold: 60
      livenessProbe:
        httpGet: { path: /healthz, port: http, scheme: {{ include "tenure.scheme" . }} }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /readyz, port: http, scheme: {{ include "tenure.scheme" . }} }
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 2
      lifecycle:
        preStop:
          exec:
            command: [sleep, {{ .Values.preStopSeconds | quote }}]
      {{- include "tenure.container" . | nindent 6 }}
  volumes:
    - name: config
      configMap:
        name: {{ include "tenure.name" . }}
    {{- if .Values.tls.existingSecret }}
    - name: tls
      secret:
        secretName: {{ .Values.tls.existingSecret }}
    {{- end }}
    - name: tmp
      emptyDir: {}
    {{- if eq .Values.store.kind "postgresql" }}
    - name: data
      emptyDir: {}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if eq .Values.store.kind "postgresql" }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "tenure.selector" . | nindent 10 }}
  {{- end }}
{{- end }}
