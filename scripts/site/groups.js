/**
 * The docs by purpose (https://diataxis.fr): the only place that says which page belongs where. docs/README.md and the
 * sidebar of the site are made from it. New pages need no entry: files in a group's folder belong to the group, and
 * pages of docs/ that no list names to the last group.
 */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/**
 * @typedef {object} Page
 * @property {string} path relative to the root of the project
 * @property {string} title its first heading
 * @property {string} about what the reader finds there
 *
 * @typedef {{ title: string, pages: Page[] }} Section title '': pages of the group itself
 * @typedef {{ title: string, purpose: string, sections: Section[] }} Group
 *
 * @typedef {object} GroupEntry
 * @property {string} title
 * @property {string} purpose
 * @property {string} [folder] whose files belong to it, also without an entry
 * @property {Record<string, Record<string, string>>} sections by title: what each page is about, by file in docs/
 */

/** @type {GroupEntry[]} */
const GROUPS = [
  {
    title: 'Tutorials',
    purpose: 'Learn by building something that works, step by step.',
    folder: 'tutorials',
    sections: {
      '': {
        'tutorials/first-live-page.md': 'a page that shows what a service publishes, at once and without a missing line; ten minutes',
        'tutorials/shared-list.md': 'a shopping list that several people edit at once, and a service that may refuse a change',
        'tutorials/own-session.md': 'users of your Express or Django application connect with the session that they have, without a token'
      }
    }
  },
  {
    title: 'How-to guides',
    purpose: 'Reach one goal, with the steps and the settings for it.',
    folder: 'how-to',
    sections: {
      'Build a product': {
        'how-to/publish-from-your-framework.md': 'a few lines for Spring, Django, Rails and Go, over HTTP and Kafka',
        'how-to/outbox-table.md': 'a table in your database, so that no record is lost between commit and publish',
        'how-to/tokens-from-an-issuer.md': 'tokens of Auth0, Keycloak or any OpenID Connect provider, and tokens that your own service ' +
          'issues',
        'how-to/remove-access.md': 'revoke, leave, close, kick, ban and restore: what each does, and the order of the steps',
        'how-to/another-origin-and-vite.md': 'pages of another host, and a development server',
        'how-to/reload-a-document.md': 'after a repair or a restored backup: a record that makes all pages load the document again; ' +
          '`close` and `cut`',
        'how-to/avatars.md': 'who has the document open, with name, color and picture',
        'how-to/cursors.md': 'pointers and selections with name and color; signal or presence state; when to remove a cursor',
        'how-to/typing-indicator.md': 'signals, which are never stored',
        'how-to/confirmations.md': 'receipts of open pages; a list of the users who have not confirmed',
        'how-to/test-your-page.md': 'end-to-end tests with Playwright, tests with `node --test`; one process, no Redis, no Kafka',
        'how-to/notifications.md': 'messages to every page of a user, also after a reconnect',
        'how-to/from-centrifugo.md': 'each part of Centrifugo, and its counterpart in inkcast',
        'how-to/from-pusher.md': 'each part of Pusher Channels, and its counterpart in inkcast; changing a page step by step',
        'migrate-from-socketio.md': 'an existing Socket.IO application on inkcast: what stays, what changes',
        'extensions.md': 'Socket.IO code of your own: events, rooms, namespaces, middlewares, other servers and emitters',
        'react.md': 'hooks for React',
        'vue.md': 'composables for Vue',
        'svelte.md': 'stores for Svelte',
        'websocket.md': 'devices and programs without a Socket.IO library: messages over a plain WebSocket',
        'devices.md': 'devices with MQTT 3.1.1 or 5: topics, quality of service, what differs',
        'phones.md': 'React Native and Expo; resuming with the Socket.IO clients for Java, Python, Swift and Dart',
        'outbox.md': 'edits that survive lost connections and page reloads, and that the gateway accepts once',
        'shared-tabs.md': 'all tabs of a browser on one connection, as one member of the presence',
        'yjs.md': 'shared documents with Yjs: storage in one command, provider, awareness, offline',
        'webhooks.md': 'messages of clients and life-cycle events to a service by POST; how a service refuses a message; an outage of ' +
          'the service',
        'document-rules.md': 'settings for kinds of documents: history, presence, signals, rate; a log that keeps only the newest ' +
          'record of each key',
        'devtools.md': 'a panel in the page that shows what a client does',
        'demo.md': 'the demo page, and how to run it with Kafka and the document service',
        '../examples/README.md': 'a page, React, Vite, Next, Node, msgpack, producers in Python, Java and Go, a document service'
      },
      'Run it': {
        'deployment.md': 'one machine, several machines, containers, health, TLS, ports',
        'kubernetes.md': 'Helm chart and manifests: deploy, drain, rotate secrets, probes, scaling, network policies',
        'kernel.md': 'limits of the operating system, and a script that prints what is wrong',
        'tls.md': 'certificates and their renewal, session tickets, mutual TLS, TLS to Kafka, secrets in files',
        'how-to/rotate-keys.md': 'token keys, certificates, API tokens, webhook secrets, passwords: which of them change without a restart',
        'how-to/backup.md': 'what to back up, how to restore it, and a drill',
        'how-to/sizing.md': 'three questions that decide how many processes and machines you need',
        'capacity.md': 'processes and machines for ten thousand to ten million connections (generated)',
        'load.md': '`inkcast load`: scenarios, what is checked, report',
        'upgrade.md': 'steps for each version'
      },
      'Watch it': {
        'how-to/trouble.md': 'symptom, where to look, what to do',
        'operations.md': 'which page is for what',
        'operations/run.md': 'npm, PM2, containers, signals, reload, administration from another machine',
        'operations/machines.md': 'cordon, maintenance of one machine, moving clients',
        'operations/redis.md': 'set-up, Redis is down, Redis came back empty, failover, rights',
        'operations/kafka.md': 'Kafka or a service is down: what users notice, and the steps',
        'operations/processes.md': 'ready, hung, overloaded, busy, growing; log; limits of the machine',
        'operations/faults.md': 'what clients notice of each fault, measured',
        'status.md': 'the status page with the figures of the last hour, and what to do about each; the inspector, which shows the path ' +
          'of a record live',
        'monitoring.md': 'Grafana dashboards and alerts for Prometheus',
        'tracing.md': 'traces of records through OpenTelemetry, from the publisher to the browser and back'
      }
    }
  },
  {
    title: 'Reference',
    purpose: 'Look up an event, a header, a setting, a code.',
    sections: {
      'For clients': {
        'protocol.md': 'events between clients and the gateway',
        'protocol-details.md': 'presence, the log of a user, queued edits, offsets, slow consumers, limits of connections',
        'client.md': 'the package for browsers and Node: load, send, presence, tokens, the state of the connection',
        'client-errors.md': 'errors of the package: what a page does about each code; read-only documents',
        'client-api.md': 'every class, method, option and event of the package (generated)',
        'auth.md': 'tokens, key sets, grants, the access service, revocations'
      },
      'For services': {
        'kafka.md': 'records: headers, order with one or several producers, receipts, life-cycle events, guarantees, dead letters',
        'kafka-topics.md': 'for administrators of Kafka: sizes, ACLs, schema registries, changes of topics',
        'api.md': 'publishing and reading over HTTP',
        'publishers.md': 'packages for Node and Python that publish, with safe retries, and check webhooks',
        'http-api.md': 'every operation of the api, with parameters and answers (generated)',
        'grpc.md': 'publishing and reading over gRPC; streams of publications and events',
        'tenants.md': 'several applications on one cluster: names, rights and budgets',
        'callers.md': 'who may call the api, for what and how fast: tokens, JWTs, client certificates, rights, rates',
        'sessions.md': 'connected users, life-cycle events, the end of a worker'
      },
      'For operators': {
        'configuration.md': 'every setting (generated)',
        'command.md': '`inkcast`: start, check, config, token, publish, tail, trace, status, loglevel, cordon, move, load (generated)',
        'limits.md': 'connections, events and operations that are refused, with settings and metrics',
        'errors.md': 'every error code (generated)',
        'metrics.md': 'every metric, with alert hints (generated)',
        'alerts.md': 'every alert: when it fires, what to do (generated)',
        'releases.md': 'supported versions of Node, browsers, Redis, Kafka and Kubernetes; packages from a checkout; release notes',
        '../CHANGELOG.md': 'every change, by version',
        'glossary.md': 'every term, one meaning each'
      }
    }
  },
  {
    title: 'Explanation',
    purpose: 'Understand why inkcast is made the way it is.',
    folder: 'explanation',
    sections: {
      '': {
        'five-answers.md': 'what inkcast is, when not to use it, how to publish, what happens without Redis, how to deploy; read it first',
        'concepts.md': 'the main terms, the path of a record, and how far the log reaches back',
        'why-a-log.md': 'what a log per document costs, and what it makes possible',
        'security-model.md': 'the parties, what each may do, and what stops them',
        'comparison.md': 'inkcast beside Socket.IO, Centrifugo, Liveblocks, Hocuspocus, PartyKit, y-sweet, Ably and others',
        'guarantees.md': 'what arrives, how often and in which order; with and without Kafka',
        'durability.md': 'what an acknowledgement means, by set-up; `PUBLISH_WAIT`',
        'proof.md': 'what the last `npm run proof` lost: simulation, faults, attacks, load, cost and soak in one command (generated)',
        'scale.md': 'measurements: the usual Node set-up beside inkcast, 100,000 connections, and 2 to 16 workers (generated)'
      }
    }
  }
]

/** Pages for contributors: docs/internals/README.md, for readers of a checkout only. */
const INTERNALS = {
  'architecture.md': 'how the parts fit together and where to find them',
  'promises.md': 'what inkcast promises, and the checks, tests and mutations that hold each promise',
  'simulation.md': 'whole clusters in virtual time, with faults by seed: how it works, what it checks, how to read a failure',
  'soak.md': 'a test of an hour, in which clients come and go and parts fail, and memory must not grow',
  'reading.md': 'what readers understood of the README and the docs, and the sentences that they read twice',
  'mqtt.md': 'each mandatory statement of MQTT 3.1.1 and 5, what inkcast does, and the test that shows it',
  'redis-keys.md': 'keys that clients leave in Redis: number, lifetime, size',
  'hooks.md': 'private parts of libraries that inkcast uses (generated)',
  'terms.md': 'words that only the code uses',
  'releasing.md': 'what the owner of the names sets up once, and the steps of each release',
  'decisions/README.md': 'reasons for the design (generated)'
}

/** @param {string} path relative to the root @param {string} [root] @returns {string} its first heading */
export function titleOf (path, root = ROOT) {
  const title = /^# (.+)$/m.exec(readFileSync(root + path, 'utf8'))?.[1]
  if (title === undefined) throw new Error(`${path} has no heading of level 1`)
  return title.replaceAll('`', '')
}

/**
 * @param {string} path
 * @param {string} [root]
 * @returns {string} its first sentence, for a list: without links, and without the full stop
 */
export function firstSentenceOf (path, root = ROOT) {
  const paragraphs = readFileSync(root + path, 'utf8').split(/\n\s*\n/)
  const paragraph = paragraphs.find((part) => /^[\p{L}\d"'`*_[(]/u.test(part)) ?? ''
  const line = paragraph.replaceAll('\n', ' ').replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
  const sentence = /^.+?[.:](?=\s|$)/.exec(line)?.[0] ?? line
  return sentence.replace(/[.:]$/, '').replaceAll('|', '\\|')
}

/**
 * @param {string} folder of docs/
 * @param {string} root
 * @returns {string[]} its Markdown files, relative to docs/; README.md left out
 */
const filesOf = (folder, root) => existsSync(`${root}docs/${folder}`)
  ? readdirSync(`${root}docs/${folder}`)
      .filter((name) => name.endsWith('.md') && name !== 'README.md')
      .map((name) => `${folder}${folder && '/'}${name}`)
      .sort()
  : []

/** @param {string} file relative to docs/ */
const pathOf = (file) => file.startsWith('../') ? file.slice('../'.length) : `docs/${file}`

/** @returns {Page[]} the pages for contributors, except single decisions */
export const readInternals = () => Object.entries(INTERNALS)
  .map(([file, about]) => ({ path: `docs/internals/${file}`, title: titleOf(`docs/internals/${file}`), about }))

/** @param {string} [root] @returns {Group[]} every page for users */
export function readGroups (root = ROOT) {
  const lists = GROUPS.flatMap(({ sections }) => Object.values(sections))
  const listed = new Set(lists.flatMap((pages) => Object.keys(pages)))
  const last = GROUPS.at(-1)
  return GROUPS.map((group) => {
    const found = [...group.folder ? filesOf(group.folder, root) : [], ...group === last ? filesOf('', root) : []]
      .filter((file) => !listed.has(file))
    const own = [
      ...Object.entries(group.sections[''] ?? {}),
      ...found.map((file) => /** @type {const} */ ([file, firstSentenceOf(pathOf(file), root)]))
    ]
    const sections = [['', own], ...Object.entries(group.sections).filter(([title]) => title !== '').map(
      ([title, pages]) => [title, Object.entries(pages)]
    )]
    return {
      title: group.title,
      purpose: group.purpose,
      sections: /** @type {[string, [string, string][]][]} */ (sections)
        .filter(([, pages]) => pages.length > 0)
        .map(([title, pages]) => ({
          title,
          pages: pages.map(([file, about]) => ({ path: pathOf(file), title: titleOf(pathOf(file), root), about }))
        }))
    }
  }).filter(({ sections }) => sections.length > 0)
}

/** @returns {Page[]} the decisions, in their order */
export const readDecisions = () =>
  filesOf('internals/decisions', ROOT).map((file) => ({ path: pathOf(file), title: titleOf(pathOf(file)), about: '' }))
