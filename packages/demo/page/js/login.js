import { byId } from './dom.js'
import { requestToken } from './token.js'

const KEY = 'inkcast demo token'

/**
 * The token of this page, where the gateway needs one: signed by the gateway, or pasted by the visitor. A pasted one is
 * in the storage of this tab only; it is never in an address or on the console.
 *
 * @param {object} dependencies
 * @param {string} dependencies.guid
 * @param {string} dependencies.user the person's id
 * @param {string | null} dependencies.command that makes a token; null: none is needed
 */
export function createLogin ({ guid, user, command }) {
  const form = byId('login')
  const field = byId('token', HTMLInputElement)

  /** @param {string} reason */
  function ask (reason) {
    byId('login-reason').textContent = reason
    byId('token-command').textContent = command ?? ''
    byId('state').dataset.state = 'refused'
    byId('state-text').textContent = 'needs a token'
    document.body.classList.add('locked')
    form.hidden = false
    field.focus()
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const token = field.value.trim()
    field.value = ''
    if (token === '') return
    sessionStorage.setItem(KEY, token)
    location.reload()
  })

  return {
    /** @returns {Promise<import('./token.js').TokenSource>} pending while the visitor has not given one */
    async source () {
      if (command === null) return { kind: 'none' }
      const token = sessionStorage.getItem(KEY)
      if (token !== null) return { kind: 'pasted', token }
      if (await requestToken(guid, user) !== null) return { kind: 'signed' }
      ask('This gateway accepts only clients with a token. It signs a token by itself if it has AUTH_JWT_SECRET and you open this page ' +
        'at localhost.')
      return new Promise(() => {})
    },

    /**
     * The gateway has refused the token.
     * @param {string} message
     * @returns {boolean} whether the visitor was asked for another one
     */
    refused (message) {
      if (!form.hidden) return true
      if (command === null || sessionStorage.getItem(KEY) === null) return false
      sessionStorage.removeItem(KEY)
      ask(`The gateway refuses this token: ${message}.`)
      return true
    }
  }
}
