import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { InkcastProvider, useConnection, useDocument, usePresence, useSignal } from 'inkcast-react'

test('on a server the hooks render the first data, and nothing is connected', () => {
  function Page () {
    const { state } = useConnection()
    const { status, data, error, pending, doc } = useDocument('minutes', { initial: ['of the server'], presence: true })
    const { count } = usePresence(doc)
    const send = useSignal(doc, 'cursor')
    return createElement('p', null, JSON.stringify([state, status, data, error, pending, count, send({})]))
  }
  // a client would try to connect, and keep this process alive
  const text = renderToString(createElement(InkcastProvider, { url: 'http://gateway.invalid' }, createElement(Page)))
  assert.equal(text.replaceAll('&quot;', '"'), '<p>["connecting","joining",["of the server"],null,[],0,false]</p>')
})
