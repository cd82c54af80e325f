{{- /* What sets each flag of `shindan run`. Written by tests/chart/settings.rs. */ -}}
{{- define "shindan.flags" -}}
annotate: annotate
creating: config.creating
creating-pulling: config.creatingPulling
event-grace: config.eventGrace
events-per-workload: config.eventsPerWorkload
exclude-namespace: config.excludeNamespaces
exclude-namespaces: config.excludeNamespaces
flapping-stable: config.flappingStable
flapping-transitions: config.flappingTransitions
flapping-window: config.flappingWindow
ignore-causes: config.ignoreCauses
init: config.init
kind: config.kinds
kinds: config.kinds
lang: config.lang
leader-elect: the chart
leader-elect-lease-duration: config.leaderElectLeaseDuration
leader-elect-renew-deadline: config.leaderElectRenewDeadline
leader-elect-retry-period: config.leaderElectRetryPeriod
listen: config.listen
log-format: config.logFormat
max-ended-per-failure: config.maxEndedPerFailure
max-per-namespace: config.maxPerNamespace
namespace: namespaces
namespaces: namespaces
network: network
never-ready: config.neverReady
nodes: nodes
notify: notify.config
previous-logs: previousLogs
readiness-lost: config.readinessLost
recovered-never-started: config.recoveredNeverStarted
recovered-restarting: config.recoveredRestarting
retention: config.retention
selector: config.selector
threshold: config.thresholds
thresholds: config.thresholds
unschedulable: config.unschedulable
unschedulable-scaling-up: config.unschedulableScalingUp
write-concurrency: config.writeConcurrency
write-qps: config.writeQps
{{- end }}
