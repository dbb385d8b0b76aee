import { byId } from './dom.js'

/**
 * The command that publishes from a terminal.
 *
 * @param {{ guid: string, apiUrl: string, needsToken: boolean }} settings
 */
export function createTerminal ({ guid, apiUrl, needsToken }) {
  const token = needsToken ? ' -H "authorization: Bearer $TOKEN"' : ''
  const line = `curl -X POST ${apiUrl}/v1/documents/${encodeURIComponent(guid)}/broadcast -H "content-type: application/json"${token} ` +
    `-d '{"text":"Hello from curl"}'`
  const code = byId('curl')
  const button = byId('copy')
  code.textContent = line
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(line)
      button.textContent = 'Copied'
    } catch {
      // pages without TLS may not write to the clipboard: select the text, to be copied by hand
      getSelection()?.selectAllChildren(code)
      button.textContent = 'Selected'
    }
    setTimeout(() => { button.textContent = 'Copy' }, 2000)
  })
}
