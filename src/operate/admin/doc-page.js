import { Marked } from 'marked'

/** A page of the docs as HTML, with the anchors that links to its headings expect. */

const SERVED = /^(?:#|https?:\/\/|[a-z0-9-]+\.md(?:#|$))/

/** @param {RegExp} linked links to these are kept: other files of the project are not served */
const rendererFor = (linked) => new Marked({
  gfm: true,
  renderer: {
    heading ({ tokens, depth, text }) {
      return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
    },
    link ({ href, tokens }) {
      const text = this.parser.parseInline(tokens)
      return linked.test(href) ? `<a href="${href}">${text}</a>` : text
    },
    table (token) {
      const rows = [token.header, ...token.rows].map((cells, i) =>
        `<tr>${cells.map(({ tokens }) => {
          const tag = i === 0 ? 'th' : 'td'
          return `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`
        }).join('')}</tr>`
      )
      return `<div class="scroller" tabindex="0"><table><thead>${rows[0]}</thead><tbody>${rows.slice(1).join('\n')}</tbody></table></div>\n`
    }
  }
})

/** As GitHub makes them. @param {string} text of a heading @returns {string} */
export const anchorOf = (text) => text.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')

/**
 * @param {string} text Markdown
 * @param {object} [options]
 * @param {string} [options.files] path of styles and icon
 * @param {RegExp} [options.linked] pages that are served as well; default: those beside it
 * @returns {string}
 */
export function renderDoc (text, { files = '', linked = SERVED } = {}) {
  const title = /^# (.+)$/m.exec(text)?.[1] ?? 'inkcast'
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>${title.replaceAll('&', '&amp;').replaceAll('<', '&lt;')} · inkcast</title>
  <link rel="icon" href="${files}/icon.svg">
  <link rel="stylesheet" href="${files}/css/base.css">
  <link rel="stylesheet" href="${files}/css/doc.css">
</head>
<body>
  <header class="bar">
    <a class="brand" href="/"><img src="${files}/icon.svg" alt="Back" width="30" height="30"></a><span>inkcast docs</span>
  </header>
  <main class="doc">${String(rendererFor(linked).parse(text)).replaceAll('<pre>', '<pre tabindex="0">')}</main>
</body>
</html>
`
}
