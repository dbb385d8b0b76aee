/** Writes docs/client-api.md from the types and comments of client/, which TypeScript reads for us. */
import { fileURLToPath } from 'node:url'
import { Node, Project, ts } from 'ts-morph'
import { markdownTable } from './markdown-table.js'

const CLIENT = fileURLToPath(new URL('../client/', import.meta.url))

/** The parts of the page, in their order: the names of the declarations of each. */
const PARTS = [
  { title: 'Connecting', names: ['connect', 'ClientOptions', 'TokenReason', 'OutboxOptions', 'PositionStorage'] },
  { title: 'The client', names: ['Client', 'ClientState', 'Transport'] },
  { title: 'A document', names: ['OpenOptions', 'Document', 'OwnEvents', 'Status', 'SendOptions', 'QueuedSend', 'ListenOptions', 'Turn'] },
  { title: 'Loading', names: ['Load', 'LoadReason', 'Resync', 'ResyncReason'] },
  { title: 'Records', names: ['Listener', 'Meta', 'Position', 'LoggedRecord'] },
  { title: 'Presence', names: ['Member', 'PresenceDiff'] },
  { title: 'The log of the user', names: ['UserLog'] },
  { title: 'Errors and the log', names: ['ClientError', 'ErrorCode', 'LogEntry', 'LogSink'] }
]
const INSTANCES = /** @type {Record<string, string>} */ ({
  Client: 'client', Document: 'doc', UserLog: 'client.user', ClientError: 'error'
})
/** Types that are shown with the one that they are parts of. */
const INLINED = ['GatewayEvents', 'StatusEvents', 'PendingEvents', 'DroppedEvents']

const NAMES = PARTS.flatMap(({ names }) => names)

/**
 * @typedef {import('ts-morph').TypeAliasDeclaration} TypeAlias
 * @typedef {import('ts-morph').ClassDeclaration | TypeAlias | import('ts-morph').FunctionDeclaration} Declared
 */

/** @returns {string} the page */
export function clientApiPage () {
  const { declarations, iteration } = declare()
  const missing = exportsOf(declarations).filter((name) => !NAMES.includes(name))
  if (missing.length > 0) throw new Error(`scripts/client-api.js: name ${missing.join(', ')} in PARTS: client/index.js exports it`)
  const find = (/** @type {string} */ name) => {
    const found = declarations.get(name)
    if (found === undefined) throw new Error(`scripts/client-api.js: client/ declares no ${name}`)
    return found
  }
  return [
    '# Client API',
    '<!-- Generated from client/ by "npm run docs": do not edit. -->',
    'Every class, function and type that `inkcast-client` exports, with the members that applications use. [Client](client.md) explains ' +
    'them, with examples. ' +
    'In TypeScript import the types by these names: `import { connect, type Document } from \'inkcast-client\'`.',
    ...PARTS.flatMap(({ title, names }) => [`## ${title}`, ...names.flatMap((name) => [
      ...render(find(name), find),
      ...name === 'Document' ? ['#### for await (… of doc)', ...iteration, code('for await (const turn of doc) { … } // turn: ' +
        'Turn<Events & Signals>'), ...seeAlso('Turn', '')] : []
    ])])
  ].join('\n\n') + '\n'
}

/**
 * Declarations of client/ as TypeScript writes them for packages. Without the library files: nothing of the page needs
 * them, and they take seconds.
 * @returns {{ declarations: Map<string, Declared>, iteration: string[] }} by name; how a document is iterated
 */
function declare () {
  const sources = new Project({
    skipFileDependencyResolution: true,
    skipLoadingLibFiles: true,
    compilerOptions: {
      allowJs: true, strict: true, declaration: true, emitDeclarationOnly: true, noLib: true, noResolve: true,
      types: [],
      module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023, outDir: '/declarations', rootDir: CLIENT
    }
  })
  // TypeScript rewrites the type of an optional property, and an array in it becomes `{}` without this declaration
  sources.createSourceFile(`${CLIENT}library.d.ts`, 'interface Array<T> { [index: number]: T }')
  sources.addSourceFilesAtPaths([`${CLIENT}*.js`, `${CLIENT}{common,connection,document,outbox,presence,user}/*.js`])
  // without the library TypeScript does not know the name of this method
  const iterator = sources.getSourceFileOrThrow(`${CLIENT}document/document.js`).getClassOrThrow('Document')
    .getMethods().find((method) => method.getName() === '[Symbol.asyncIterator]')
  const emitted = new Project({ useInMemoryFileSystem: true, skipFileDependencyResolution: true })
  /** @type {Map<string, Declared>} */
  const declarations = new Map()
  for (const { filePath, text } of sources.emitToMemory({ emitOnlyDtsFiles: true }).getFiles()) {
    const file = emitted.createSourceFile(filePath, text)
    for (const statement of [...file.getFunctions(), ...file.getClasses(), ...file.getTypeAliases()]) {
      const name = statement.getName()
      // the other names of a type: `type Position = import('./document/positions.js').Position`
      if (name === undefined || (Node.isTypeAliasDeclaration(statement) && isAlias(statement))) continue
      if (name !== 'Position' || !declarations.has(name)) declarations.set(name, statement)
    }
    if (filePath === '/declarations/index.d.ts') declarations.set('index', /** @type {any} */ (file))
  }
  return { declarations, iteration: docOf(iterator) }
}

/** @param {TypeAlias} type */
const isAlias = (type) => new RegExp(`^import\\(.*\\)\\.${type.getName()}(<.*>)?;?$`).test(type.getTypeNodeOrThrow().getText())

/** @param {Map<string, Declared>} declarations @returns {string[]} */
function exportsOf (declarations) {
  const index = /** @type {import('ts-morph').SourceFile} */ (/** @type {unknown} */ (declarations.get('index')))
  declarations.delete('index')
  return [
    ...index.getTypeAliases().map((type) => type.getName()),
    ...index.getFunctions().map((one) => one.getName() ?? ''),
    ...index.getExportDeclarations().flatMap((one) => one.getNamedExports().map((named) => named.getName()))
  ]
}

/** @param {Declared} declared @param {(name: string) => Declared} find @returns {string[]} */
function render (declared, find) {
  const name = declared.getName() ?? ''
  const heading = `### ${name}`
  if (Node.isFunctionDeclaration(declared)) return [heading, ...callable(declared, `${name}`)]
  if (Node.isClassDeclaration(declared))
    return [heading, ...docOf(declared), ...members(declared, INSTANCES[name] ?? name)]
  const node = declared.getTypeNodeOrThrow()
  const doc = isOwnComment(declared) ? docOf(declared) : []
  const properties = propertiesOf(node, find)
  if (properties.length > 0) {
    const head = name === 'OwnEvents' ? ['event', 'listener', 'when'] : ['property', 'type', 'meaning']
    return [heading, ...doc, markdownTable(head, properties)]
  }
  if (name === 'ErrorCode') {
    const codes = codesOf(declared, find).map((one) => `\`${one}\``).join(', ')
    return [heading, 'A code of the gateway ([errors](errors.md)), or one of the client\'s own, which come last:', codes]
  }
  return [heading, ...doc, code(`type ${name}${parametersOf(declared)} = ${plain(node.getText())}`), ...seeAlso(node.getText(), name)]
}

/** @param {TypeAlias} type @param {(name: string) => Declared} find @returns {string[]} */
const codesOf = (type, find) => type.getTypeNodeOrThrow().getText().split(' | ').flatMap((part) => part.startsWith('"')
  ? [part.slice(1, -1)]
  : codesOf(/** @type {TypeAlias} */ (find(part)), find))

/** @param {TypeAlias} type */
const parametersOf = (type) => {
  const parameters = type.getTypeParameters().map((one) => one.getName())
  return parameters.length > 0 ? `<${parameters.join(', ')}>` : ''
}

/**
 * TypeScript copies the comment of several types to each of them: it says nothing about a single one.
 * @param {TypeAlias} type
 */
function isOwnComment (type) {
  const text = textOf(type)
  return type.getSourceFile().getTypeAliases().filter((one) => textOf(one) === text).length === 1
}

/**
 * @param {import('ts-morph').TypeNode} node
 * @param {(name: string) => Declared} find
 * @returns {string[][]} rows
 */
function propertiesOf (node, find) {
  if (Node.isIntersectionTypeNode(node)) {
    const parts = node.getTypeNodes().map((part) => part.getText().replace(/<.*/, ''))
    if (!parts.every((part) => INLINED.includes(part))) return []
    const about = commentList(/** @type {any} */ (node.getParentOrThrow()))
    return parts.flatMap((part) => {
      const type = /** @type {TypeAlias} */ (find(part))
      return propertiesOf(type.getTypeNodeOrThrow(), find)
    }).map(([event, listener, meaning]) => [event, listener, meaning || (about.get(event.replaceAll('`', '')) ?? '')])
  }
  if (!Node.isTypeLiteral(node)) return []
  return node.getProperties().map((property) => {
    const type = property.getTypeNodeOrThrow().getText()
    const optional = property.hasQuestionToken()
    return [
      `\`${property.getName().replaceAll(/["']/g, '')}\`${optional ? ' (optional)' : ''}`,
      typeCell(optional ? type.replace(/ \| undefined$/, '') : type),
      textOf(property)
    ]
  })
}

/** @param {TypeAlias} type @returns {Map<string, string>} meanings by name: "- `name`: …" */
function commentList (type) {
  const comment = type.getJsDocs().at(-1)?.getDescription() ?? ''
  return new Map(comment.split(/\n- /).slice(1).flatMap((item) => {
    const [names, meaning] = item.replaceAll(/\s+/g, ' ').trim().split(/(?<=`): /)
    return names.split(', ').map((name) => /** @type {const} */ ([name.replaceAll('`', ''), meaning]))
  }))
}

/** @param {import('ts-morph').ClassDeclaration} declared @param {string} instance @returns {string[]} */
function members (declared, instance) {
  const isShown = (/** @type {any} */ member) =>
    !member.getName().startsWith('_') && !member.getName().startsWith('#') && !member.hasModifier('private') &&
    !(member.getJsDocs() ?? []).some((/** @type {import('ts-morph').JSDoc} */ doc) =>
      doc.getTags().some((tag) => tag.getTagName() === 'internal'))
  const values = [...declared.getProperties(), ...declared.getGetAccessors()].filter(isShown)
  const listeners = values.filter((one) => /\bListen</.test(String(typeOf(one))))
  const rows = values.filter((one) => !listeners.includes(one))
    .map((one) =>
      [
        `\`${instance}.${one.getName()}\``, typeCell(typeOf(one)),
        [textOf(one).replace(/\.$/, ''), returnsOf(one)].filter(Boolean).join('; ')
      ])
  /** @type {Map<string, import('ts-morph').MethodDeclaration[]>} */
  const methods = new Map()
  for (const method of declared.getMethods().filter(isShown))
    methods.set(method.getName(), [...methods.get(method.getName()) ?? [], method])
  return [
    ...rows.length > 0 ? [markdownTable(['property', 'type', 'meaning'], rows)] : [],
    ...listeners.flatMap((one) => [
      `#### ${instance}.${one.getName()}`, textOf(one), code(`${instance}.${one.getName()}(event, listener, options?): () => void`),
      ...seeAlso('OwnEvents Listener ListenOptions', '')
    ]),
    ...[...methods].flatMap(([name, overloads]) => {
      const shown = `${instance}.${name}`
      return [`#### ${shown}`, ...overloads.flatMap((method) => callable(method, shown))]
    })
  ]
}

/**
 * @param {import('ts-morph').MethodDeclaration | import('ts-morph').FunctionDeclaration} method
 * @param {string} name as it is called
 */
function callable (method, name) {
  const parameters = method.getParameters()
  const named = parameters.map((one) => ({
    // a destructured parameter has its name in the comment
    name: Node.isIdentifier(one.getNameNode()) ? one.getName() : 'options', optional: one.isOptional(),
    type: (one.getTypeNode()?.getText() ?? 'any').replace(
      /^\{\}$/, 'Function'
    )
  }))
  const returned = method.getReturnTypeNode()?.getText() ?? 'void'
  const head = `${name}(${named
    .map((one) => `${one.name}${one.optional ? '?' : ''}: ${plain(one.type.replace(/ \| undefined$/, ''))}`)
    .join(', ')}): ` +
    `${plain(returned)}`
  const tags = method.getJsDocs().flatMap((doc) => doc.getTags())
  const about = named.flatMap(({ name: one }) => {
    const tag = tags.find((candidate) => Node.isJSDocParameterTag(candidate) && candidate.getName() === one)
    const text = tag && oneLine(tag.getCommentText())
    return text ? [`- \`${one}\`: ${text}`] : []
  })
  const others = tags.flatMap((tag) => {
    const text = oneLine(tag.getCommentText())
    if (tag.getTagName() === 'returns' && text) return [`- returns: ${text}`]
    if (tag.getTagName() !== 'throws') return []
    const type = plain(/\{(.+?)\}/.exec(tag.getText())?.[1] ?? '')
    return [`- throws \`${type}\`${/^[a-z_]+$/.test(text) ? ` with the code \`${text}\`` : text && ` ${text}`}`]
  })
  const list = [...about, ...others].join('\n')
  return [...docOf(method), code(head), ...list === '' ? [] : [list], ...seeAlso(`${named.map(({ type }) => type)} ${returned}`, '')]
}

/** @param {any} one @returns {string} of a property or accessor; of its comment, if the type belongs to a library */
function typeOf (one) {
  const written = one.getTypeNode?.()?.getText() ?? one.getReturnTypeNode?.()?.getText() ?? 'any'
  const inComment = /@(?:returns|type) \{([^\n]+)\}/.exec(one.getJsDocs().map((/** @type {any} */ doc) => doc.getText()).join('\n'))?.[1]
  return written === 'any' && inComment !== undefined ? inComment : written
}

/** @param {any} one @returns {string} */
const returnsOf = (one) => oneLine(one.getJsDocs()
  .flatMap((/** @type {import('ts-morph').JSDoc} */ doc) => doc.getTags())
  .find((/** @type {import('ts-morph').JSDocTag} */ tag) => tag.getTagName() === 'returns')?.getCommentText())

/** @param {any} node @returns {string} its description in one line */
const textOf = (node) => oneLine(node.getJsDocs().at(-1)?.getDescription())

/** @param {any} node @returns {string[]} its description, paragraph by paragraph */
const docOf = (node) => (node.getJsDocs().at(-1)?.getDescription() ?? '').trim().split(/\n\s*\n/)
  .map((/** @type {string} */ part) => /^- /.test(part) ? '' : sentence(oneLine(part))).filter(Boolean)

/** @param {string} text */
const sentence = (text) => text && `${text[0].toUpperCase()}${text.slice(1)}${/[.:;]$/.test(text) ? '' : '.'}`

/** @param {string | undefined} text */
const oneLine = (text) => (text ?? '').replaceAll(/\s+/g, ' ').trim()

/** @param {string} type without paths of files */
const plain = (type) => type.replaceAll(/import\(["'][^"']+["']\)\./g, '').replaceAll(/\s*\n\s*/g, ' ').replaceAll(/;(?= \})/g, '')
  .replaceAll(/(\w\?: [^;{}()]+?) \| undefined/g, '$1').replaceAll('"', '\'')

/** @param {string} type */
function typeCell (type) {
  const [shown, links] = [plain(type), linksTo(type)]
  if (NAMES.includes(shown)) return links[0]
  return `\`${shown}\`${links.length > 0 ? ` (${links.join(', ')})` : ''}`
}

/** @param {string} type @returns {string[]} */
const linksTo = (type) => NAMES
  .filter((name) => new RegExp(`(?<![\\w'"])${name}(?![\\w'"])`).test(type))
  .map((name) => `[${name}](#${name.toLowerCase()})`)

/** @param {string} type @param {string} self @returns {string[]} */
function seeAlso (type, self) {
  const links = linksTo(type).filter((link) => !link.startsWith(`[${self}]`))
  return links.length > 0 ? [`Types: ${links.join(', ')}`] : []
}

/** Declarations; `ts` is code that a test compiles. @param {string} text */
const code = (text) => `\`\`\`typescript\n${text}\n\`\`\``
