import { existsSync, readFileSync } from 'node:fs'

/**
 * As strict as the one of the demo. The hash is that of the only style element of the site: when a reader changes
 * between light and dark, the library VueUse adds it to suppress transitions.
 */
const POLICY = [
  'default-src \'self\'', 'style-src \'self\' \'sha256-skqujXORqzxt1aE0NNXxujEanPTX6raoqSscTV/Ww/Y=\'',
  'img-src \'self\' data:', 'base-uri \'none\'', 'form-action \'none\'', 'frame-ancestors \'none\''
].join('; ')

const HTML = { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }
/** Names of pages: docs/ has one level of folders. */
const PAGE = /^\/docs\/((?:[a-z0-9-]+\/)?[\w-]+)(?:\.html|\.md)?$/
/** Links between these pages. */
const LINKED = /^(?:#|https?:\/\/|(?:\.\.\/)?(?:[a-z0-9-]+\/)?[\w-]+\.md(?:#|$))/
/** Style and icon of the pages, those of the status page. */
const LOOK = '/docs/look'

/**
 * Serves the site of docs/ at `/docs/`; in development only. A build is found without a restart; until there is one
 * (the package `inkcast` has none) the pages are rendered from their Markdown, without the site's search.
 *
 * @param {Pick<import('./index.js').Inkcast, 'createRenderedDocs' | 'createStaticFiles' | 'ROOT'>} inkcast
 * @param {string} [site] where `npm run docs:site` builds it (docs/.vitepress/config.js)
 * @returns {import('http').RequestListener}
 */
export function createDocsSite ({ createRenderedDocs, createStaticFiles, ROOT }, site = `${ROOT}docs/.vitepress/dist/`) {
  const docs = `${ROOT}docs/`
  const files = createStaticFiles(site, { dev: true })
  const images = createStaticFiles(docs, { extensions: [], ignores: /\.md$/ })
  const look = createStaticFiles(`${ROOT}src/operate/admin/page/`, { extensions: [] })
  const rendered = createRenderedDocs(docs, { files: LOOK, linked: LINKED })

  /** @param {import('http').IncomingMessage} req @param {import('http').ServerResponse} res @param {string} path */
  async function render (req, res, path) {
    const notFound = () => { res.writeHead(404, HTML).end('This page does not exist: <a href="/docs/">all pages</a>') }
    req.url = path.slice('/docs'.length)
    if (path.startsWith('/docs/images/')) return images(req, res, notFound)
    if (path.startsWith(`${LOOK}/`)) {
      req.url = path.slice(LOOK.length)
      return look(req, res, notFound)
    }
    const name = path === '/docs/' ? 'README' : PAGE.exec(path)?.[1]
    const page = name === undefined ? undefined : await rendered(`${name}.md`).catch(() => undefined)
    if (page === undefined) notFound()
    else res.writeHead(200, HTML).end(page)
  }

  return (req, res) => {
    const [path, query] = (req.url ?? '').split('?')
    if (path === '/docs') return void res.writeHead(301, { location: `/docs/${query === undefined ? '' : `?${query}`}` }).end()
    res.setHeader('content-security-policy', POLICY)
    res.setHeader('x-content-type-options', 'nosniff')
    res.setHeader('referrer-policy', 'no-referrer')
    if (!existsSync(`${site}index.html`)) return void render(req, res, path)
    req.url = req.url?.slice('/docs'.length)
    // the site's own page, with its search
    files(req, res, () => { res.writeHead(404, HTML).end(readFileSync(`${site}404.html`)) })
  }
}
