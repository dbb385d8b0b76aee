// Imports go one way: composition roots -> gateway, api, ingest, admin -> documents, sessions, auth, bus -> kafka,
// redis -> leaves.
const roots = '^(cluster\\.js|src/(gateway|ingest|api|store|role)\\.js|src/(launcher|cli|roles)/)'
const roles = '^src/(gateway|delivery|extensions|rehearsal|socketio|engine|peers|admission|api|ingest|admin|webhook)/'
const domain = '^src/(documents|sessions|presence|receipts|workers|heartbeat|auth|bus|publish|uplink|inspect|overview)/'
const drivers = '^src/(kafka|redis)/'
const leaves = '^src/(wire|config|common|machine|metrics|process|tls|tracing)/'

/** @type {(name: string, from: string, to: string, comment: string) => object} */
const forbid = (name, from, to, comment) => ({
  name,
  severity: 'error',
  comment,
  from: { path: from, pathNot: roots },
  to: { path: to }
})
/** @type {(folder: string, below: string) => object} `below`: folders as `a|b|` that it imports besides the leaves */
const downOnly = (folder, below) => ({
  name: `${folder}-imports-down`,
  severity: 'error',
  comment: `src/${folder}/ imports ${below.replaceAll('|', ', ')}leaves and nothing above`,
  from: { path: `^src/${folder}/` },
  to: { path: '^(src/|cluster)', pathNot: `^src/(${folder}|${below}wire|config|common|machine|metrics|process|tls)/` }
})
/** @type {(library: string, folders: string) => object} folders as `a|b` */
const onlyIn = (library, folders) => ({
  name: `only-${folders.replaceAll('|', '-')}-imports-${library.replace(/\W/g, '')}`,
  severity: 'error',
  comment: `only src/${folders}/ may import ${library}`,
  from: { path: '^(src|cluster)', pathNot: `^src/(${folders})/` },
  to: { path: `node_modules/${library}/` }
})

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      comment: 'a cycle hides which part owns what',
      from: {},
      to: { circular: true }
    },
    {
      name: 'unresolved',
      severity: 'error',
      comment: 'an import that cannot be found',
      from: {},
      to: { couldNotResolve: true }
    },
    forbid('roles-import-no-root', roles, roots, 'roles know nothing of who composes them'),
    forbid(
      'roles-keep-apart',
      '^src/(gateway|api|ingest)/',
      '^src/(gateway|api|ingest|webhook)/',
      'see roles-keep-apart below'
    ),
    forbid('store-imports-common', '^src/redis/store/', '^(src/(?!store/|common/)|cluster)', 'the built-in store imports common only'),
    downOnly('engine', ''),
    downOnly('load', ''),
    forbid(
      'only-the-command-loads',
      '^(src/(?!load/|demo/crowd/)|cluster)',
      '^src/load/',
      '`inkcast load` is no part of a server; the crowd of the demo is a process of its own'
    ),
    downOnly('admission', 'engine|'),
    downOnly('peers', 'engine|'),
    downOnly('socketio', 'admission|engine|'),
    downOnly('delivery', 'socketio|admission|engine|'),
    downOnly('extensions', 'socketio|admission|engine|'),
    forbid('gateway-imports-no-rehearsal', '^src/gateway/', '^src/gateway/rehearsal/', 'the rehearsal tries the gateway out'),
    forbid('domain-imports-down', domain, `${roots}|${roles}`, 'the domain imports drivers and leaves only'),
    forbid('drivers-import-leaves', drivers, `${roots}|${roles}|${domain}`, 'kafka and redis import leaves only'),
    forbid('leaves-import-leaves', leaves, `${roots}|${roles}|${domain}|${drivers}`, 'leaves import leaves only'),
    forbid('leaves-import-no-root', leaves, roots, 'leaves import leaves only'),
    forbid(
      'only-roots-import-the-demo',
      '^(src/(?!demo/)|cluster)',
      '^(src/demo|examples)/',
      'production contains nothing of the demo'
    ),
    {
      name: 'examples-stand-alone',
      severity: 'error',
      comment: 'people start from them: they need no file outside',
      from: { path: '^examples/' },
      to: { path: '^src/(?!extensions/extension\\.js)|^test/|^client/(?!index\\.js)' }
    },
    {
      name: 'client-stands-alone',
      severity: 'error',
      comment: 'it runs in browsers',
      from: { path: '^client/' },
      to: { path: '^(src|test|examples|packages|cluster)|node_modules/(?!socket\\.io-client/)' }
    },
    {
      name: 'core-loads-parts-on-demand',
      severity: 'error',
      comment: 'the outbox and the devtools are loaded with import() only',
      from: { path: '^client/[^/]+\\.js$' },
      to: { path: '^client/(outbox|devtools)/', dynamic: false }
    },
    {
      name: 'packages-stand-alone',
      severity: 'error',
      comment: 'packages import the entries of inkcast-client and their peer dependencies',
      from: { path: '^packages/([^/]+)/' },
      to: {
        path: '.',
        pathNot: '^packages/$1/|^client/(index|devtools/index)\\.js$|node_modules/(react|yjs|y-protocols|lib0)/'
      }
    },
    {
      name: 'no-client-in-the-server',
      severity: 'error',
      comment: 'it is served as files only; `inkcast tail` is a client',
      from: { path: '^(src|cluster)', pathNot: '^src/operate/cli/tail\\.js' },
      to: { path: '^(client|packages)/' }
    },
    {
      name: 'only-roots-import-a-kafka-driver',
      severity: 'error',
      comment: 'everything else gets a KafkaDriver (src/kafka/contract.js)',
      from: { path: '^(src|cluster)', pathNot: `${roots}|^src/kafka/kafkajs/` },
      to: { path: '^src/kafka/kafkajs/' }
    },
    onlyIn('kafkajs', 'kafka/kafkajs'),
    onlyIn('ioredis', 'redis'),
    onlyIn('socket\\.io', 'socketio|gateway|extensions'),
    onlyIn('@socket\\.io', 'socketio'),
    onlyIn('socket\\.io-adapter', 'socketio|extensions'),
    onlyIn('engine\\.io', 'engine'),
    onlyIn('ws', 'engine|rehearsal'),
    onlyIn('fastify', 'api'),
    onlyIn('@opentelemetry', 'tracing'),
    onlyIn('commander', 'cli'),
    onlyIn('luaparse', 'store')
  ].map((rule) =>
    rule.name === 'roles-keep-apart'
      ? {
          ...rule,
          from: { path: '^src/(gateway|api|ingest)/' },
          to: { path: '^src/(gateway|api|ingest)/', pathNot: '^src/$1/' },
          comment: 'roles talk over the bus, never by import'
        }
      : rule
  ),
  // exports: ours as well, so that examples import the client as others do. Not examples/vite and examples/next, which
  // have dependencies of their own
  options: {
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: false,
    exclude: { path: '^src/(demo|admin)/page/|^examples/(vite|next)/|/dist/' }
  }
}
