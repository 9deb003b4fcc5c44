# Two targets: `embedded` (the default) carries its own engine; `server` needs CLICKHOUSE_URL and is about 570 MB
# smaller. Both have Node, the libraries that it loads and the service, and nothing else: no shell, no package manager.
# They run as an unprivileged user, on a read-only file system and without capabilities; all they write is in /data.

FROM node:24-trixie-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json vite.server.config.ts ./
COPY schema ./schema
COPY src ./src
COPY web ./web
RUN npm run build && find dist -name '*.d.ts' -delete

FROM node:24-trixie-slim AS modules
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Of the front end, the one binary that this image loads is kept: the others are 380 MB. Of the engine, its library.
RUN npm ci --omit=dev \
  && find node_modules/uwebsockets node_modules/uWebSockets.js -name 'uws_*.node' \
    ! -name "uws_linux_$(node -p process.arch)_$(node -p process.versions.modules).node" -delete \
  && find node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.cts' -o -name '*.mts' -o -name '*.md' \
    -o -name chdb_node.node \) -delete

# Not `npm ci --omit=optional`: that would leave out the binaries of @node-rs as well, which npm has as optional packages.
FROM modules AS modules-server
RUN rm -r node_modules/chdb node_modules/@chdb node_modules/ffi-rs node_modules/@yuuang

FROM node:24-trixie-slim AS healthcheck
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev
COPY deploy/image/healthcheck.c ./
RUN gcc -std=c17 -Os -Wall -Wextra -Werror -static -s -o /healthcheck healthcheck.c

# The file system of the image: Node, the shared libraries that it and the packages' binaries name, and two users.
FROM modules AS root
RUN mkdir -p /root-of-image/usr/local/bin /root-of-image/etc /root-of-image/app /volume \
  && mkdir --mode=1777 /root-of-image/tmp && mkdir --mode=0700 /volume/data \
  && cp /usr/local/bin/node /root-of-image/usr/local/bin/ \
  && ldd /usr/local/bin/node $(find node_modules -name '*.node' -o -name '*.so') > /libraries \
  && ! grep 'not found' /libraries \
  && grep -o '/[^ ]*\.so[^ ]*' /libraries | grep -v '^/app\|:$' | sort -u | xargs -I {} cp -L --parents {} /root-of-image \
  && cp --parents /usr/share/doc/libc6/copyright /usr/share/doc/libgcc-s1/copyright /root-of-image \
  && grep '^root:\|^node:' /etc/passwd > /root-of-image/etc/passwd \
  && grep '^root:\|^node:' /etc/group > /root-of-image/etc/group \
  && echo 'hosts: files dns' > /root-of-image/etc/nsswitch.conf

FROM scratch AS base
ENV PATH=/usr/local/bin NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATA_DIR=/data
COPY --from=root /root-of-image/ /
COPY --from=root --chown=1000:1000 /volume/ /
COPY --from=healthcheck /healthcheck /usr/local/bin/
WORKDIR /app
COPY package.json LICENSE ./
COPY schema ./schema
COPY --from=build /app/dist ./dist
# The user `node`, as a number: Kubernetes cannot tell from a name that it is not root.
USER 1000:1000
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["healthcheck"]
ENTRYPOINT ["node", "dist/cli.js"]
CMD ["serve"]

FROM base AS server
COPY --from=modules-server /app/node_modules ./node_modules

FROM base AS embedded
COPY --from=modules /app/node_modules ./node_modules
