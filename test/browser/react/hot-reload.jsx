/**
 * Hot reload as a bundler's plugin does it (react-refresh), without one. Imported before react-dom, which looks for the
 * hook of the developer tools when it starts.
 */
const tools = {
  supportsFiber: true,
  renderer: null,
  root: null,
  inject: (renderer) => {
    tools.renderer = renderer
    return 1
  },
  checkDCE () {},
  onScheduleFiberRoot () {},
  onCommitFiberRoot (_id, root) { tools.root = root },
  onPostCommitFiberRoot () {},
  onCommitFiberUnmount () {}
}
globalThis.__REACT_DEVTOOLS_GLOBAL_HOOK__ = tools

/** Replaces a component of the page by a new version of it. */
export function hotReload (component) {
  const family = { current: component }
  const next = (props) => component(props)
  tools.renderer.setRefreshHandler((type) => type === component || type === next ? family : undefined)
  family.current = next
  tools.renderer.scheduleRefresh(tools.root, { staleFamilies: new Set(), updatedFamilies: new Set([family]) })
}
