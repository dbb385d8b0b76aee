/**
 * Parts of inkcast that the package inkcast-demo uses. It gets this module as one record: an installed package cannot
 * import files of another one. Loaded with the demo, in development only (demo.js).
 */
import { fileURLToPath } from 'node:url'

export { createDocument, isDocumentEvent } from '../../../examples/document-service/document.js'
export { createInkcast } from '../../../examples/document-service/inkcast.js'
export { createService } from '../../../examples/document-service/service.js'
export { createMemoryStore } from '../../../examples/document-service/stores.js'
export { InkcastError, publicError } from '../../base/common/errors.js'
export { fetchJson } from '../../base/common/fetch-json.js'
export { within } from '../../base/common/wait.js'
export { isLoopbackHost } from '../../base/process/host-name.js'
export { isLocalRequest } from '../../base/process/local-request.js'
export { phoneUrls } from '../../base/process/phone-urls.js'
export { targetOf } from '../../base/process/request-target.js'
export { createStaticFiles } from '../../base/process/static-files.js'
export { newTraceId } from '../../wire/headers.js'
export { decodeMsgpack, encodeMsgpack } from '../../wire/msgpack.js'
export { isId } from '../../wire/publication.js'
export { hasServices, needsStore } from '../../config/load.js'
export { createRedis } from '../../redis/client.js'
export { signClaims } from '../../people/auth/sign-token.js'
export { answerError, answerJson, readBody } from '../admin/answers.js'
export { askPrivately, createPrivateListener } from '../admin/private-listener.js'
export { createRenderedDocs } from '../admin/rendered-docs.js'
export { demoSocket } from '../admin/run-directory.js'
export { apiUrl, needsToken } from './banner.js'

/** Folder of the package inkcast: its `client/` and `docs/` are served. */
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
