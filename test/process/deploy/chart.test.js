import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, describe, test } from 'node:test'
import { parseAllDocuments, parse } from 'yaml'
import { PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule'
import { ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor'
import { MANIFESTS, manifestsOf } from '../../../scripts/chart/manifests.js'
import { CHART, lacksHelm, renderChart } from '../../../scripts/chart/render.js'
import { loadConfig } from '../../../src/config/load.js'
import { BLOCKS } from '../../../src/config/blocks.js'
import { GATEWAY_FLAGS } from '../../../src/base/process/runtime-flags.js'

/** The chart, rendered by Helm's engine and checked with the schemas of Kubernetes, oldest and newest version. */

const ROOT = new URL('../../../', import.meta.url)
const VERSIONS = ['1.27', '1.31', '1.37']
const peers = [{ namespaceSelector: { matchLabels: { name: 'ingress' } } }]

/** The values that the page shows. */
const [, shown] = /```yaml\n# my-values\.yaml\n([^]*?)```/.exec(readFileSync(new URL('docs/kubernetes.md', ROOT), 'utf8')) ?? []

/** @type {Record<string, any>} */
const CASES = {
  defaults: {},
  docs: parse(shown),
  everything: {
    image: { digest: `sha256:${'a'.repeat(64)}` },
    imagePullSecrets: [{ name: 'registry' }],
    settings: { NODE_ENV: 'production', DRAIN_TIMEOUT: '120000', MAX_CONNECTIONS: '50000' },
    files: { 'rules.json': '{ "rules": [] }\n' },
    filesSecret: 'callers',
    gateway: {
      autoscaling: { connections: 20_000 },
      service: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', annotations: { 'example.com/scheme': 'internal' } },
      tls: { secretName: 'certificate' },
      sysctls: [{ name: 'net.core.somaxconn', value: '4096' }],
      env: { LOG_LEVEL: 'debug', LISTENERS: 'ws:/devices,wss://0.0.0.0:3201/devices,socketio://[::]:3202' },
      annotations: { 'example.com/a': 'b' },
      nodeSelector: { pool: 'gateways' },
      tolerations: [{ key: 'gateways', operator: 'Exists' }],
      affinity: { nodeAffinity: {} },
      priorityClassName: 'high'
    },
    api: { grpcPort: 50_051 },
    ingress: { enabled: true },
    networkPolicy: {
      clients: peers, services: peers, monitoring: peers, egress: { enabled: true, to: [{ ports: [{ port: 6379 }] }] }
    },
    serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
    prometheusRule: { enabled: true },
    dashboards: { enabled: true }
  },
  'with TLS on ADMIN_PORT': {
    settings: { ADMIN_TLS_FILES: 'cert:/etc/inkcast-secret/tls.crt,key:/etc/inkcast-secret/tls.key' },
    filesSecret: 'admin-tls',
    serviceMonitor: { enabled: true, tlsConfig: { ca: { secret: { name: 'ca', key: 'ca.crt' } } } }
  },
  stateful: { gateway: { kind: 'StatefulSet', autoscaling: { enabled: false } } },
  'with a path of its own': { settings: { SOCKET_PATH: 'live/realtime' }, ingress: { enabled: true } },
  'with settings of one role': {
    gateway: {
      env: {
        DRAIN_TIMEOUT: '300000', SOCKET_PATH: '/own', ADMIN_TLS_FILES: 'cert:/etc/inkcast-secret/tls.crt,key:/etc/inkcast-secret/tls.key'
      }
    },
    ingress: { enabled: true }
  },
  small: {
    ingest: { enabled: false }, api: { autoscaling: { enabled: false } }, networkPolicy: { enabled: false },
    serviceAccount: { name: 'default' }
  },
  'without monitoring': { networkPolicy: { monitoring: [] } },
  'a misspelled value': { gateway: { replica: 3 } },
  'a number as a setting': { settings: { MAX_CONNECTIONS: 50_000 } },
  'a digest that is none': { image: { digest: 'latest' } }
}

const lacking = await lacksHelm()

describe('the Helm chart', { skip: lacking }, () => {
  /** @type {import('../../../scripts/chart/render.js').Rendered} */
  let rendered
  /** Resources by the name of their case. @type {Map<string, any[]>} */
  const parsed = new Map()
  /** @type {(name: string) => any[]} resources of a case */
  const resources = (name) => {
    const all = parsed.get(name) ?? Object.entries(rendered.cases[name].files)
      .filter(([path]) => path.endsWith('.yaml'))
      .flatMap(([, text]) => parseAllDocuments(text).map((document) => document.toJS()))
      .filter((resource) => resource !== null)
    parsed.set(name, all)
    return all
  }
  /** @param {string} name of a case @param {string} kind @param {string} called */
  const find = (name, kind, called) => {
    const found = resources(name).find((one) => one.kind === kind && one.metadata.name === called)
    assert.ok(found !== undefined, `${name}: there is no ${kind} ${called}`)
    return found
  }
  /** @param {any} workload */
  const podOf = (workload) => workload.spec.template.spec
  /** @param {any} pod @returns {Record<string, any>} */
  const envOf = (pod) => Object.fromEntries(pod.containers[0].env.map(
    (/** @type {any} */ { name, value, valueFrom }) => [name, value ?? valueFrom.fieldRef.fieldPath]
  ))

  before(async () => { rendered = await renderChart(CASES, VERSIONS) })

  test('has no finding of helm lint above "info"', () => {
    assert.deepEqual(rendered.lintErrors, [])
    assert.deepEqual(rendered.lint.filter(({ severity }) => severity > 1), [])
  })

  test(`renders resources that Kubernetes ${VERSIONS.join(', ')} accept, without unknown fields`, () => {
    assert.deepEqual(rendered.invalid, [])
    for (const name of ['defaults', 'docs', 'everything', 'stateful', 'small']) assert.equal(rendered.cases[name].error, null)
    assert.ok(resources('everything').length > 25)
  })

  test('renders a ServiceMonitor and alerts that the Prometheus operator accepts', () => {
    new ServiceMonitor(find('everything', 'ServiceMonitor', 'inkcast')).validate()
    const rule = find('everything', 'PrometheusRule', 'inkcast')
    new PrometheusRule(rule).validate()
    assert.deepEqual(rule.spec.groups, parse(readFileSync(`${CHART}/monitoring/rules.yml`, 'utf8')).groups)
    assert.throws(() => new ServiceMonitor(/** @type {any} */ ({ spec: { endpoints: 'none' } })).validate())
  })

  test('has Prometheus use TLS where ADMIN_PORT does', () => {
    const monitor = find('with TLS on ADMIN_PORT', 'ServiceMonitor', 'inkcast')
    new ServiceMonitor(monitor).validate()
    assert.equal(monitor.spec.endpoints[0].scheme, 'https')
    assert.equal(monitor.spec.endpoints[0].tlsConfig.ca.secret.name, 'ca')
    assert.equal(find('everything', 'ServiceMonitor', 'inkcast').spec.endpoints[0].scheme, undefined)
  })

  test('watches what the monitor selects: every pod, on the port that serves metrics', () => {
    const monitor = find('everything', 'ServiceMonitor', 'inkcast')
    const service = find('everything', 'Service', 'inkcast-metrics')
    assert.ok(matches(monitor.spec.selector.matchLabels, service.metadata.labels))
    assert.ok(!matches(monitor.spec.selector.matchLabels, find('everything', 'Service', 'inkcast-gateway').metadata.labels))
    assert.equal(service.metadata.labels[monitor.spec.jobLabel], 'inkcast', 'the job of the dashboards')
    for (const role of ['gateway', 'ingest', 'api']) {
      const { template } = find('everything', 'Deployment', `inkcast-${role}`).spec
      assert.ok(matches(service.spec.selector, template.metadata.labels), role)
      assert.ok(template.spec.containers[0].ports.some((/** @type {any} */ { name }) => name === 'admin'))
    }
  })

  test('has a deployment, a disruption budget, an autoscaler and a network policy that select each role', () => {
    for (const role of ['gateway', 'ingest', 'api']) {
      const name = `inkcast-${role}`
      const { selector, template } = find('everything', 'Deployment', name).spec
      assert.ok(matches(selector.matchLabels, template.metadata.labels))
      assert.deepEqual(find('everything', 'PodDisruptionBudget', name).spec.selector, selector)
      assert.deepEqual(find('everything', 'NetworkPolicy', name).spec.podSelector, selector)
      for (const other of ['gateway', 'ingest', 'api'].filter((one) => one !== role))
        assert.ok(!matches(selector.matchLabels, find('everything', 'Deployment', `inkcast-${other}`).spec.template.metadata.labels))
    }
    const { scaleTargetRef, metrics } = find('everything', 'HorizontalPodAutoscaler', 'inkcast-gateway').spec
    assert.deepEqual(scaleTargetRef, { apiVersion: 'apps/v1', kind: 'Deployment', name: 'inkcast-gateway' })
    assert.deepEqual(metrics.map((/** @type {any} */ { type }) => type), ['Resource', 'Pods'])
    assert.equal(metrics[1].pods.metric.name, 'inkcast_connections')
    assert.equal(find('everything', 'Deployment', 'inkcast-gateway').spec.replicas, undefined, 'left to the autoscaler')
    assert.equal(find('stateful', 'StatefulSet', 'inkcast-gateway').spec.replicas, 2)
  })

  test('opens the ports of listeners in the pod, the service and the network policy', () => {
    const named = (/** @type {any[]} */ ports) => ports.map(({ name, port }) => name ?? port).filter((name) => /^listener-/.test(name))
    const expected = ['listener-3201', 'listener-3202']
    const [{ ports }] = podOf(find('everything', 'Deployment', 'inkcast-gateway')).containers
    assert.deepEqual(ports.filter(({ name = '' }) => name.startsWith('listener-')), expected.map((name) =>
      ({ name, containerPort: Number(name.slice(-4)) })))
    const { spec } = find('everything', 'Service', 'inkcast-gateway')
    assert.deepEqual(named(spec.ports), expected)
    assert.deepEqual(spec.ports.slice(1).map((/** @type {any} */ { port }) => port), [3201, 3202])
    const policy = find('everything', 'NetworkPolicy', 'inkcast-gateway').spec.ingress
      .find((/** @type {any} */ rule) => rule.ports[0].port === 'clients')
    assert.deepEqual(named(policy.ports), expected)
    assert.deepEqual(named(find('defaults', 'Service', 'inkcast-gateway').spec.ports), [])
  })

  test('passes on the path at which its gateways are', () => {
    const pathOf = (/** @type {string} */ name) => find(name, 'Ingress', 'inkcast-gateway').spec.rules[0].http.paths[0].path
    assert.equal(pathOf('everything'), '/socket.io/')
    assert.equal(pathOf('with a path of its own'), '/live/realtime/')
    assert.equal(pathOf('with settings of one role'), '/own/')
  })

  test('gives a pod the probes and the time to stop that the settings of its role need', () => {
    const [gateway, api] = ['gateway', 'api'].map((role) =>
      podOf(find('with settings of one role', 'Deployment', `inkcast-${role}`)))
    assert.ok(gateway.terminationGracePeriodSeconds >= 5 + 300)
    assert.ok(api.terminationGracePeriodSeconds < 60)
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
      assert.deepEqual([gateway, api].map((pod) => pod.containers[0][probe].httpGet.scheme), ['HTTPS', 'HTTP'])
  })

  test('asks /live whether a pod lives, /ready whether it gets clients, and drains it before its end', () => {
    for (const role of ['gateway', 'ingest', 'api']) {
      const pod = podOf(find('everything', 'Deployment', `inkcast-${role}`))
      const [{ livenessProbe, readinessProbe, startupProbe, lifecycle }] = pod.containers
      assert.equal(livenessProbe.httpGet.path, '/live')
      assert.equal(startupProbe.httpGet.path, '/live')
      assert.equal(readinessProbe.httpGet.path, '/ready')
      assert.equal(readinessProbe.httpGet.scheme, 'HTTP')
      const [withTls] = podOf(find('with TLS on ADMIN_PORT', 'Deployment', `inkcast-${role}`)).containers
      for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
        assert.equal(withTls[probe].httpGet.scheme, 'HTTPS')
      const pause = Number(lifecycle?.preStop.exec.command[1] ?? 0)
      assert.equal(pause, role === 'ingest' ? 0 : 5)
      // DRAIN_TIMEOUT of 120 s, and time to be killed
      assert.ok(pod.terminationGracePeriodSeconds >= pause + 120 + 5, role)
    }
  })

  test('runs as an unprivileged user that can write to /tmp only', () => {
    for (const workload of resources('everything').filter(({ kind }) => kind === 'Deployment')) {
      const pod = podOf(workload)
      const [{ securityContext, volumeMounts }] = pod.containers
      assert.equal(pod.securityContext.runAsNonRoot, true)
      assert.equal(pod.automountServiceAccountToken, false)
      assert.deepEqual(securityContext, {
        allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] }
      })
      const writable = volumeMounts.filter((/** @type {any} */ { readOnly }) => !readOnly)
      assert.deepEqual(writable.map((/** @type {any} */ { mountPath }) => mountPath), ['/tmp'])
      const names = pod.volumes.map((/** @type {any} */ { name }) => name)
      assert.deepEqual(volumeMounts.map((/** @type {any} */ { name }) => name), names)
    }
  })

  test('sets only settings that exist, to values that inkcast accepts', () => {
    const known = new Set(Object.values(BLOCKS).flatMap(({ settings }) => Object.keys(settings)))
    for (const role of ['gateway', 'ingest', 'api']) {
      const pod = podOf(find('everything', 'Deployment', `inkcast-${role}`))
      const { data } = find('everything', 'ConfigMap', 'inkcast-settings')
      const own = envOf(pod)
      const env = { ...data, ...own, ...(own.PEER_HOST === undefined ? {} : { PEER_HOST: '10.0.0.7' }) }
      for (const name of Object.keys(env)) assert.ok(known.has(name) || name === 'NODE_ENV', name)
      const { stringData } = parse(readFileSync(new URL('deploy/kubernetes/secret.example.yaml', ROOT), 'utf8'))
      const config = loadConfig({ env: { ...stringData, ...env } })
      assert.equal(config.mode, 'kafka')
      assert.equal(config.gateway.workers, role === 'gateway' ? 1 : config.gateway.workers)
      assert.equal(config.api.grpcPort, role === 'api' ? 50_051 : undefined)
    }
    const gateway = podOf(find('everything', 'Deployment', 'inkcast-gateway'))
    assert.deepEqual(gateway.containers[0].command, ['node', ...GATEWAY_FLAGS, 'src/gateway.js'])
    assert.equal(envOf(gateway).PEER_HOST, 'status.podIP')
  })

  test('lets nobody but gateways reach the port for other gateways', () => {
    const { spec } = find('everything', 'NetworkPolicy', 'inkcast-gateway')
    const peersOnly = spec.ingress.find((/** @type {any} */ { ports }) => ports[0].port === 3100)
    const { labels } = find('everything', 'Deployment', 'inkcast-gateway').spec.template.metadata
    assert.ok(matches(peersOnly.from[0].podSelector.matchLabels, labels))
    assert.equal(peersOnly.ports[0].endPort, 3101, 'a worker that is replaced has the second one')
    assert.deepEqual(spec.policyTypes, ['Ingress', 'Egress'])
    assert.deepEqual(find('defaults', 'NetworkPolicy', 'inkcast-gateway').spec.policyTypes, ['Ingress'])
  })

  test('lets only the listed peers reach ADMIN_PORT, and nobody without a list', () => {
    const rulesOf = (/** @type {string} */ name, /** @type {string} */ role) =>
      find(name, 'NetworkPolicy', `inkcast-${role}`).spec.ingress
        .filter((/** @type {any} */ { ports }) => ports.some((/** @type {any} */ { port }) => port === 'admin'))
    for (const role of ['gateway', 'ingest', 'api']) {
      for (const name of ['defaults', 'everything', 'docs'])
        assert.deepEqual(rulesOf(name, role).map((/** @type {any} */ { from }) => from?.length), [1], `${name} ${role}`)
      assert.deepEqual(rulesOf('without monitoring', role), [], role)
    }
    assert.deepEqual(rulesOf('everything', 'api')[0].from, peers)
  })

  test('takes a role, a policy or an account away when its value says so', () => {
    const kinds = (/** @type {string} */ name, /** @type {string} */ kind) =>
      resources(name).filter((one) => one.kind === kind).map(({ metadata }) => metadata.name)
    assert.deepEqual(kinds('small', 'Deployment').sort(), ['inkcast-api', 'inkcast-gateway'])
    assert.deepEqual(kinds('small', 'NetworkPolicy'), [])
    assert.deepEqual(kinds('small', 'ServiceAccount'), [])
    assert.deepEqual(kinds('stateful', 'Deployment').sort(), ['inkcast-api', 'inkcast-ingest'])
    assert.deepEqual(kinds('everything', 'ConfigMap').filter((name) => name.endsWith('-dashboard')).length, 6)
    for (const { data, metadata } of resources('everything').filter(({ kind }) => kind === 'ConfigMap')) {
      if (!metadata.name.endsWith('-dashboard')) continue
      const [[file, text]] = Object.entries(data)
      assert.deepEqual(JSON.parse(text), JSON.parse(readFileSync(`${CHART}/monitoring/dashboards/${file}`, 'utf8')))
    }
  })

  test('refuses values that it does not know', () => {
    assert.match(String(rendered.cases['a misspelled value'].error), /replica/)
    assert.match(String(rendered.cases['a number as a setting'].error), /MAX_CONNECTIONS/)
    assert.match(String(rendered.cases['a digest that is none'].error), /digest/)
  })

  test('is what deploy/kubernetes has for clusters without Helm (if not: node scripts/chart/manifests.js)', () => {
    assert.equal(readFileSync(MANIFESTS, 'utf8'), manifestsOf(rendered.cases.defaults.files))
  })

  test('has the version of inkcast', () => {
    const { version } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'))
    const chart = parse(readFileSync(`${CHART}/Chart.yaml`, 'utf8'))
    assert.deepEqual([chart.appVersion, chart.version], [version, version])
    const { images } = parse(readFileSync(new URL('deploy/kubernetes/kustomization.yaml', ROOT), 'utf8'))
    assert.equal(images[0].newTag, version)
    assert.match(readFileSync(new URL('Dockerfile', ROOT), 'utf8'), new RegExp(`^ARG VERSION=${version}$`, 'm'))
  })
})

/** @param {Record<string, string>} selector @param {Record<string, string>} labels */
const matches = (selector, labels) => Object.entries(selector).every(([name, value]) => labels[name] === value)
