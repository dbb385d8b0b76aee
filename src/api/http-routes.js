import { documentRoutes } from './http-documents.js'
import { publishRoutes } from './http-publish.js'
import { sessionRoutes } from './http-sessions.js'

/** @type {import('./http-route.js').Route[]} */
export const routes = [...publishRoutes, ...documentRoutes, ...sessionRoutes]
