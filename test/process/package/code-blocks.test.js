import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { transform } from 'esbuild'
import { connect } from 'inkcast/client'
import { io } from 'socket.io-client'
import { parseDocument } from 'yaml'
import { systemClock } from '../../../src/base/common/clock.js'
import { loadConfig } from '../../../src/config/load.js'
import { createEmitterMessages } from '../../../src/transport/socketio/emitter-messages.js'
import { startAdmin } from '../../helpers/admin.js'
import { COMMANDS } from '../../helpers/documented-commands.js'
import { codeBlocks, commandsOf, pages, runBlock } from '../../helpers/code-blocks.js'
import { phoneScenarios } from '../../helpers/phone-blocks.js'
import { startEmbedded } from '../../helpers/embedded.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'
import { serviceScenarios } from '../../helpers/service-blocks.js'
import { userLogScenarios } from '../../helpers/user-log-blocks.js'
import { howToScenarios } from '../../helpers/how-to-blocks.js'
import { publisherScenarios } from '../../helpers/publisher-blocks.js'
import { websocketScenarios } from '../../helpers/websocket-blocks.js'
import { yjsScenarios } from '../../helpers/yjs-blocks.js'

/** Code that readers copy has to run: each code block of the pages is checked according to its language. */

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const server = await startEmbedded({ after }, { LISTENERS: 'ws:/websocket/handshake,mqtt://127.0.0.1:0' })
const admin = await startAdmin({ after })
/** The files and commands of tutorials are one program: test/browser/tutorials.test.js follows them. */
const blocks = codeBlocks().filter(({ file }) => !file.startsWith('docs/tutorials/'))
const of = (/** @type {string} */ language) => blocks.filter((block) => block.language === language)

/** @param {string} text with the addresses of a gateway with default settings */
const here = (text) =>
  text.replaceAll(/(?:http:\/\/)?localhost:3000/g, server.url)
    .replaceAll(/(?:http:\/\/)?localhost:3001/g, server.apiUrl)
    .replaceAll(/(?:http:\/\/)?localhost:9100/g, admin.url)
/** A console for a code block, and its output. */
function recordingConsole () {
  /** @type {any[]} */
  const printed = []
  return {
    printed,
    console: {
      log: (/** @type {any[]} */ ...args) => {
        printed.push(args)
      }
    }
  }
}
const load = (/** @type {string} */ specifier) => import(specifier)

/** @param {string} guid @param {unknown} value @param {Record<string, string>} [headers] */
const publish = (guid, value, headers) => server.post(`/v1/documents/${guid}/broadcast`, value, headers)

/**
 * Scenario of each JavaScript block, with its expected effects. The key has a text that only this block contains.
 * @type {Record<string, (code: string, t: import('node:test').TestContext) => Promise<void>>}
 */
const SCENARIOS = {
  'README.md: await client.open(': async (code, t) => {
    const { console, printed } = recordingConsole()
    const { client } = await runBlock(code, { console }, load)
    t.after(() => client.close())
    await waitFor(() => printed.length === 1, { message: () => printed })
    await publish('demo', { text: 'from a service' })
    await waitFor(() => printed.length === 2, { message: () => printed })
    assert.deepEqual(printed, [[1, { text: 'Hello' }], [2, { text: 'from a service' }]])
  },

  'docs/client.md: await doc.send({ text': async (code, t) => {
    const { console, printed } = recordingConsole()
    const { client } = await runBlock(code, { console }, load)
    t.after(() => client.close())
    await waitFor(() => client.state === 'closed', { message: () => printed })
    assert.deepEqual(printed, [['connected', ''], [1, { text: 'hello' }], ['closed', 'the client was closed']])
  },

  'docs/devtools.md: openDevtools(client)': async (code, t) => {
    /** @type {unknown[]} */
    const opened = []
    const { client } = await runBlock(
      code.replace('import(', 'load('),
      { location: { search: '?devtools' } },
      async (specifier) => {
        const module = /** @type {any} */ (await load(specifier))
        return { ...module, ...('openDevtools' in module && { openDevtools: opened.push.bind(opened) }) }
      }
    )
    t.after(() => client.close())
    assert.deepEqual(opened, [client])
  },

  'docs/outbox.md: written offline': async (code, t) => {
    const { console, printed } = recordingConsole()
    const { client } = await runBlock(code, { console }, load)
    t.after(() => client.close())
    await waitFor(() => printed.length === 3, { message: () => printed })
    assert.deepEqual(printed.flat().map(String).sort(), ['0 not accepted yet', '1 not accepted yet', '[object Object]'])
  },

  'docs/shared-tabs.md: { shared': async (code, t) => {
    const { console, printed } = recordingConsole()
    const { client } = await runBlock(code, { console }, load)
    t.after(() => client.close())
    assert.deepEqual(printed, [[1]])
  },

  'docs/tracing.md: { traceparent }) => console.log': async (code, t) => {
    const { console, printed } = recordingConsole()
    const { client } = await runBlock(code, { console }, load)
    t.after(() => client.close())
    await waitFor(() => printed.length === 1, { message: () => printed })
    const [[drawn, change, traceparent]] = printed
    assert.deepEqual([drawn, change], ['drawn', { cell: 'A1' }])
    assert.match(String(traceparent), /^00-4bf92f3577b34da6a3ce929d0e0e4736-[0-9a-f]{16}-01$/)
  },

  ...serviceScenarios({ server, load, publish }), ...howToScenarios({ server, load, publish }),
  ...publisherScenarios({ load }), ...phoneScenarios({ load }), ...websocketScenarios({ server, load, publish }),
  ...yjsScenarios({ server, load }), ...userLogScenarios({ server, load }),

  'docs/client.md: { last: 3 })': async (code, t) => {
    const { console, printed } = recordingConsole()
    for (const price of [1, 2, 3, 4, 5]) await publish('prices', price)
    const { client } = await runBlock(code, { console }, load)
    t.after(() => client.close())
    await publish('prices', 6)
    await waitFor(() => printed.at(-1)?.[0] === 6, { message: () => printed })
    assert.deepEqual(printed, [[3, 3], [4, 4], [5, 5], [6, 6]])
  },

  'docs/protocol-details.md: { last: 3 } }': async (code, t) => {
    const { console, printed } = recordingConsole()
    for (const price of ['a', 'b', 'c', 'd']) await publish('prices', price)
    const { socket } = await runBlock(code, { console }, load)
    t.after(() => socket.disconnect())
    await waitFor(() => printed.length === 3, { message: () => printed })
    await publish('prices', 'e')
    await waitFor(() => printed.length === 4, { message: () => printed })
    socket.disconnect()
    await publish('prices', 'f')
    socket.connect()
    await waitFor(() => printed.length === 5, { message: () => printed })
    assert.deepEqual(printed, [['b'], ['c'], ['d'], ['e'], ['f']])
  },

  'docs/protocol.md: let epoch, offset': async (code, t) => {
    /** @type {unknown[]} */
    const shown = []
    let reloads = 0
    await publish('minutes', 'before')
    const { socket } = await runBlock(
      code,
      {
        show: (/** @type {unknown} */ payload) => {
          shown.push(payload)
        },
        reload: () => { reloads++ }
      },
      load
    )
    t.after(() => socket.disconnect())
    await new Promise((resolve) => { socket.once('doc:joined', resolve) })
    await publish('minutes', 1)
    await waitFor(() => shown.length === 1)
    socket.disconnect()
    await publish('minutes', 2)
    await publish('minutes', 3)
    socket.connect()
    await waitFor(() => shown.length === 3)
    await publish('minutes', 'a signal', { 'x-ephemeral': 'true' })
    await publish('minutes', 4)
    await waitFor(() => shown.length === 5)
    assert.deepEqual(shown, [1, 2, 3, 'a signal', 4])
    assert.equal(reloads, 0)
    socket.disconnect()
    for (let i = 5; i <= 1100; i++)
      await server.gateway.bus.publish([{ publication: { ...record, value: Buffer.from(String(i)) } }])
    socket.connect()
    await waitFor(() => reloads === 1)
    await publish('minutes', 'after')
    await waitFor(() => shown.length === 6)
    assert.equal(shown[5], 'after')
  },

  'examples/document-service/README.md: await client.open(': async (code, t) => {
    const client = connect(server.url)
    t.after(() => client.close())
    /** @type {unknown[]} */
    const seen = []
    const see = (/** @type {any} */ what) => { seen.push(what.version) }
    await runBlock(
      code,
      {
        client,
        version: 0,
        fetch: (/** @type {string} */ path) => fetch(server.url + path),
        show: see,
        apply: see,
        reload: () => {}
      },
      load
    )
    await publish('demo', { changes: [{ version: 0 }, { version: 1 }] }, { 'x-event': 'sheet:changes' })
    await waitFor(() => seen.length === 2)
    assert.deepEqual(seen, [0, 1])
  },

  'docs/protocol-details.md: acknowledge?.()': async (code) => {
    /** @type {Function} */
    let listener = () => {}
    /** @type {unknown[]} */
    const applied = []
    const socket = { on: (/** @type {string} */ _event, /** @type {Function} */ given) => { listener = given } }
    await runBlock(code, { socket, apply: (/** @type {unknown} */ payload) => { applied.push(payload) } }, load)
    listener('without', {})
    listener('with', {}, () => applied.push('acknowledged'))
    assert.deepEqual(applied, ['without', 'with', 'acknowledged'])
  },

  'docs/extensions.md: publish({ guid, data': async (code, t) => {
    const [one, two] = await withExtension(t, code)
    /** @type {{ text: string, by: string }[]} */
    const said = []
    two.on('said', (message) => said.push(message))
    two.emit('join', 'lobby')
    // of the same connection: it is answered after the join
    const published = await two.timeout(30_000).emitWithAck('save', 'minutes', { line: 1 })
    assert.deepEqual([published.position.offset, published.duplicate], [1, false])
    one.emit('say', 'lobby', 'hello')
    await waitFor(() => said.length === 1, { message: () => said })
    assert.deepEqual(said.map(({ text, by }) => [text, by.startsWith('anonymous:')]), [['hello', true]])
  },

  'docs/extensions.md: client.socket.on(\'said\'': async (code, t) => {
    const chat = of('js').find((block) => block.file === 'docs/extensions.md' && block.code.includes('defineExtension'))
    const [one] = await withExtension(t, /** @type {{ code: string }} */ (chat).code)
    const { console, printed } = recordingConsole()
    const { client } = await runBlock(code.replaceAll(server.url, /** @type {any} */ (one.io).uri), { console }, load)
    t.after(() => client.close())
    const said = () => printed.filter((line) => line[1] === 'Hello')
    await waitFor(() => said().length === 1 && printed.length === 2, { message: () => printed })
    assert.deepEqual(printed.find(([first]) => first === 'saved at'), ['saved at', 1])
    client.drop(0)
    await waitFor(() => client.state !== 'connected')
    await client.ready
    client.socket.emit('say', 'lobby', 'Hello')
    await waitFor(() => said().length === 2, { message: () => printed })
  },

  'docs/extensions.md: new Emitter(': async (code, t) => {
    const { io: sockets } = server.gateway
    const receive = createEmitterMessages({
      key: 'socket.io', io: sockets, metrics: server.metrics, log: recordingLog().log, clock: systemClock
    })
    /** In place of a connection to Redis. */
    class Redis {
      /** @param {string} channel @param {Buffer} payload */
      publish (channel, payload) { receive(channel, payload) }
    }
    const client = io(server.url, { transports: ['websocket'], forceNew: true })
    t.after(() => client.disconnect())
    const shipped = new Promise((resolve) => client.once('order shipped', resolve))
    await new Promise((resolve) => client.once('connect', () => resolve(undefined)))
    await sockets.sockets.sockets.get(String(client.id))?.join('orders')
    await runBlock(code, {}, async (specifier) => specifier === 'ioredis' ? { Redis } : load(specifier))
    assert.deepEqual(await shipped, { number: 7 })
  },

  'docs/migrate-from-socketio.md: setupWorker(io)': async (code) => { await transform(code) },

  'docs/migrate-from-socketio.md: export default ({ io })': async (code, t) => {
    const [one, two] = await withExtension(t, code)
    const received = new Promise((resolve) => two.on('message', resolve))
    two.emit('join', 'lobby')
    await new Promise((resolve) => two.once('connect', () => resolve(undefined)))
    // events of one client keep their order; those of two do not
    await waitFor(async () => {
      one.emit('message', { room: 'lobby', text: 'hello' })
      return Promise.race([received, new Promise((resolve) => setTimeout(resolve, 100, false))])
    })
    assert.equal(/** @type {any} */ (await received).text, 'hello')
  }
}

/** @type {import('../../../src/wire/publication.js').Publication} */
const record = {
  operator: 'broadcast',
  guid: 'minutes',
  event: 'message',
  except: [],
  ephemeral: false,
  receipt: false,
  traceId: 'a'.repeat(32),
  timestamp: 0,
  contentType: 'application/json',
  value: Buffer.from('0')
}

/**
 * A gateway with an extension from a code block, and clients of it.
 * @param {import('node:test').TestContext} t
 * @param {string} code
 */
async function withExtension (t, code) {
  const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'chat.mjs')
  writeFileSync(file, code.replace('\'inkcast\'', `'${import.meta.resolve('inkcast')}'`))
  const { url } = await startEmbedded(t, { EXTENSIONS: file })
  const clients = [1, 2].map(() => io(url, { transports: ['websocket'], forceNew: true }))
  t.after(() => clients.forEach((client) => client.disconnect()))
  return clients
}

describe('JavaScript', () => {
  for (const { file, line, code } of of('js')) {
    test(`${file}:${line} works as described`, async (t) => {
      const found = Object.keys(SCENARIOS).filter(
        (key) => key.startsWith(`${file}: `) && code.includes(key.slice(file.length + 2))
      )
      assert.equal(found.length, 1, `number of scenarios: ${found}`)
      await SCENARIOS[found[0]](here(code), t)
    })
  }

  test('has no scenario without a block', () => {
    for (const key of Object.keys(SCENARIOS)) {
      const [file, text] = [key.slice(0, key.indexOf(': ')), key.slice(key.indexOf(': ') + 2)]
      assert.ok(of('js').some((block) => block.file === file && block.code.includes(text)), key)
    }
  })
})

describe('commands', () => {
  for (const { file, line, code } of of('sh')) {
    test(`${file}:${line} can run`, async () => {
      for (const written of commandsOf(code)) {
        const [, settings, command] = /** @type {RegExpExecArray} */ (/^((?:[A-Z_]+=\S+ )*)(.*)$/.exec(written))
        loadConfig({ env: Object.fromEntries(settings.trim().split(' ').map((setting) => setting.split('='))) })
        if (command.startsWith('curl ') && !command.startsWith('curl --cacert ')) {
          await promisify(execFile)('sh', [
            '-ec',
            `curl () { command curl --fail-with-body -sS "$@"; }\n${here(command)}`
          ])
          continue
        }
        const match = COMMANDS.map(([pattern, check]) => ({
          groups: pattern.exec(command)?.groups,
          matches: pattern.test(command),
          check
        })).find(({ matches }) => matches)
        assert.ok(match, `no check for the command: ${command}`)
        match.check(...Object.values(match.groups ?? {}))
      }
    })
  }
})

/** Run by frameworks.test.js and test/integration/resume-in-languages.test.js; Swift and Dart are not run. */
const OTHERS = ['python', 'java', 'ruby', 'go', 'swift', 'dart']

describe('other blocks', () => {
  test('have a known language', () => {
    // typescript: declarations
    const KNOWN = [
      'js', 'jsx', 'vue', 'svelte', 'ts', 'typescript', 'sh', 'json', 'env', 'ini', 'mermaid', 'text', 'yaml', ...OTHERS
    ]
    assert.deepEqual(
      blocks.filter(({ language }) => !KNOWN.includes(language))
        .map(({ file, line, language }) => `${file}:${line} ${language}`),
      []
    )
    assert.ok(pages().includes('docs/protocol.md') && blocks.length > 15)
  })

  test('of JSON are valid JSON, one value or one per line', () => {
    for (const { file, line, code } of of('json')) {
      const values = code.trim().split('\n').every((text) => isJson(text)) || isJson(code)
      assert.ok(values, `${file}:${line}`)
    }
  })

  test('of settings are valid settings', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'inkcast-'))
    t.after(() => rmSync(folder, { recursive: true }))
    for (const { file, line, code } of of('env')) {
      const path = join(folder, 'settings.env')
      writeFileSync(path, code)
      try {
        loadConfig({ env: {}, file: path })
      } catch (error) {
        assert.fail(`${file}:${line}: ${error}`)
      }
    }
  })

  test('of YAML are valid', () => {
    for (const { file, line, code } of of('yaml')) {
      const { errors, warnings } = parseDocument(code)
      assert.deepEqual([...errors, ...warnings].map(String), [], `${file}:${line}`)
    }
  })

  test('of systemd consist of sections with settings', () => {
    for (const { file, line, code } of of('ini')) {
      for (const text of code.trim().split('\n')) assert.match(text, /^(?:\[\w+\]|#.*|\w+=.+|)$/, `${file}:${line}`)
    }
  })

  test('of Mermaid are sequence diagrams between declared participants', () => {
    for (const { file, line, code } of of('mermaid')) {
      const [kind, ...statements] = code.trim().split('\n').map((text) => text.trim())
      assert.equal(kind, 'sequenceDiagram', `${file}:${line}`)
      const participants = new Set()
      for (const statement of statements) {
        const [, participant] = /^participant (\w+)(?: as .+)?$/.exec(statement) ?? []
        if (participant !== undefined) participants.add(participant)
        else if (!/^(?:alt|else|opt|loop|par|and|end|Note (?:over|left of|right of) [\w, ]+:)/.test(statement)) {
          const [, from, to] = /^(\w+)-{1,2}>{1,2}(\w+): [^;#]+$/.exec(statement) ?? []
          assert.ok(participants.has(from) && participants.has(to), `${file}:${line}: ${statement}`)
        }
      }
    }
  })
})

test('links of the pages have a target', () => {
  /** @type {string[]} */
  const broken = []
  for (const file of pages()) {
    const text = readFileSync(ROOT + file, 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '')
    for (const [, link] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(link)) continue
      const [path, anchor] = link.split('#')
      const target = path === '' ? file : join(dirname(file), path)
      const there = existsSync(ROOT + target) && (anchor === undefined || headingsOf(target).includes(anchor))
      if (!there) broken.push(`${file}: ${link}`)
    }
  }
  assert.deepEqual(broken, [])
})

/** @param {string} file @returns {string[]} anchors, as GitHub makes them */
function headingsOf (file) {
  return [...readFileSync(ROOT + file, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-')
  )
}

/** @param {string} text */
function isJson (text) {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
