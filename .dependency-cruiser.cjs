// Imports go one way: each area of src imports only those before it in scripts/areas.json, and entries import all.
const AREAS = require('./scripts/areas.json')
const roots = '^(cluster\\.js|src/(gateway|ingest|api|store)\\.js|src/operate/(launcher|cli|roles)/)'

/** @type {(name: string, from: string, to: string, comment: string) => object} */
const forbid = (name, from, to, comment) => ({
  name,
  severity: 'error',
  comment,
  from: { path: from, pathNot: roots },
  to: { path: to }
})
/** @type {(folder: string, beside: string) => object} `beside`: folders of its area as `a|b` that it may import */
const downOnly = (folder, beside) => {
  const [area] = folder.split('/')
  return {
    name: `${folder.replace('/', '-')}-imports-down`,
    severity: 'error',
    comment: `of its area src/${folder}/ imports ${beside === '' ? 'nothing' : beside.replaceAll('|', ', ')}`,
    from: { path: `^src/${folder}/` },
    to: { path: `^src/${area}/`, pathNot: `^src/(${folder}${beside === '' ? '' : `|${area}/(${beside})`})/` }
  }
}
/** @type {(library: string, folders: string) => object} folders as `a|b` */
const onlyIn = (library, folders) => ({
  name: `only-${folders.replaceAll(/[/|]/g, '-')}-imports-${library.replace(/\W/g, '')}`,
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
    ...AREAS.map((area, i) => ({
      name: `${area}-imports-down`,
      severity: 'error',
      comment: `src/${area}/ imports only areas before it in scripts/areas.json`,
      from: { path: `^src/${area}/` },
      to: { path: '^(src/|cluster\\.js)', pathNot: `^src/(${AREAS.slice(0, i + 1).join('|')})/` }
    })),
    {
      name: 'roles-keep-apart',
      severity: 'error',
      comment: 'roles talk over the bus, never by import',
      from: { path: '^src/(gateway|services/api|ingest)/' },
      to: { path: '^src/(gateway|services/api|ingest)/', pathNot: '^src/$1/' }
    },
    forbid('store-imports-common', '^src/redis/store/', '^(src/(?!redis/store/|base/common/)|cluster)',
      'the built-in store imports common only'),
    downOnly('transport/engine', ''),
    downOnly('transport/admission', 'engine'),
    downOnly('transport/peers', 'engine'),
    downOnly('transport/socketio', 'admission|engine'),
    downOnly('gateway/extensions', ''),
    forbid('gateway-imports-no-rehearsal', '^src/gateway/(?!rehearsal/)', '^src/gateway/rehearsal/', 'the rehearsal tries the gateway out'),
    {
      name: 'demo-and-load-are-loaded-on-demand',
      severity: 'error',
      comment: 'production loads nothing of them: the command and the roles load them with import(), in development',
      from: { path: '^(src|cluster)' },
      to: { path: '^packages/|^src/operate/roles/demo-parts', dynamic: false }
    },
    {
      name: 'only-the-command-and-roles-load-packages',
      severity: 'error',
      comment: '`inkcast load` and the demo are no parts of a server',
      from: { path: '^(src|cluster)', pathNot: '^src/operate/(cli/load|roles/demo)\\.js$' },
      to: { path: '^packages/' }
    },
    {
      name: 'only-the-demo-has-examples',
      severity: 'error',
      comment: 'production contains nothing of them',
      from: { path: '^(src|cluster)', pathNot: '^src/operate/roles/demo-parts\\.js$' },
      to: { path: '^examples/' }
    },
    {
      name: 'examples-stand-alone',
      severity: 'error',
      comment: 'people start from them: they need no file outside',
      from: { path: '^examples/' },
      to: { path: '^src/(?!gateway/extensions/extension\\.js)|^test/|^client/(?!index\\.js)' }
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
      comment: 'the outbox and the devtools are loaded with import() only, the stores by bindings, react-native by apps',
      from: { path: '^client/[^/]+\\.js$' },
      to: { path: '^client/(outbox|devtools|stores|react-native)/', dynamic: false }
    },
    {
      name: 'packages-stand-alone',
      severity: 'error',
      comment: 'packages import the entries of inkcast-client and their peer dependencies',
      from: { path: '^packages/(react|svelte|vue|yjs)/' },
      to: {
        path: '.',
        pathNot: '^packages/$1/|^client/(index|devtools/index|stores/index)\\.js$|node_modules/(react|svelte|vue|yjs|y-protocols|lib0)/'
      }
    },
    {
      name: 'publisher-stands-alone',
      severity: 'error',
      comment: 'it has no dependency',
      from: { path: '^packages/publisher/' },
      to: { path: '.', pathNot: '^packages/publisher/|^crypto$' }
    },
    {
      name: 'yjs-server-stands-alone',
      severity: 'error',
      comment: 'installed, it cannot import files of inkcast',
      from: { path: '^packages/yjs-server/' },
      to: { path: '.', pathNot: '^packages/(yjs-server|publisher)/|^[\\w:/]+$|node_modules/(@msgpack/msgpack|yjs)/' }
    },
    {
      name: 'demo-and-load-stand-alone',
      severity: 'error',
      comment: 'installed, they cannot import files of inkcast: it hands over what the demo uses (src/operate/roles/demo-parts.js)',
      from: { path: '^packages/(demo|load)/' },
      to: { path: '.', pathNot: '^packages/($1|load)/|^[\\w:/]+$|node_modules/(@msgpack/msgpack|uplot|esbuild|mqtt-packet)/' }
    },
    {
      name: 'no-client-in-the-server',
      severity: 'error',
      comment: 'it is served as files only; `inkcast tail` is a client',
      from: { path: '^(src|cluster)', pathNot: '^src/operate/cli/tail\\.js' },
      to: { path: '^client/' }
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
    onlyIn('socket\\.io', 'transport/socketio|gateway'),
    onlyIn('@socket\\.io', 'transport/socketio'),
    onlyIn('socket\\.io-adapter', 'transport/socketio|gateway/extensions'),
    onlyIn('engine\\.io', 'transport/engine'),
    onlyIn('ws', 'transport/engine|gateway/rehearsal'),
    onlyIn('mqtt-packet', 'transport/mqtt'),
    onlyIn('fastify', 'services/api'),
    onlyIn('@opentelemetry', 'observe/tracing'),
    onlyIn('commander', 'operate/cli'),
    onlyIn('luaparse', 'redis/store')
  ],
  // exports: ours as well, so that examples import the client as others do. Not those of examples that
  // have dependencies of their own: vite, next, react-native
  options: {
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: false,
    exclude: { path: '^(packages/demo|src/operate/admin)/page/|^examples/(vite|next|react-native|tiptap)/|/dist/' }
  }
}
