import * as provider from 'inkcast-yjs'

export const names = Object.keys(provider)
