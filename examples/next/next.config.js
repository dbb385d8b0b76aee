export default { reactStrictMode: true, turbopack: { root: import.meta.dirname } }
