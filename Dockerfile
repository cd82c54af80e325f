# One static binary, nothing else: no shell, no libraries, no user database.
FROM rust:1.89-slim-bookworm AS build
WORKDIR /src
COPY Cargo.toml Cargo.lock ./
COPY src src
# glibc linked in (its allocator does better here than others); the target is named so that build scripts and macros,
# which are loaded by the compiler, stay dynamic.
RUN target="$(rustc -vV | sed -n 's/^host: //p')" \
 && RUSTFLAGS="-C target-feature=+crt-static" cargo build --release --locked --bin shindan --target "$target" \
 && install -D -m 0755 "target/$target/release/shindan" /out/shindan

FROM scratch
LABEL org.opencontainers.image.title="shindan" \
      org.opencontainers.image.description="Works out why Kubernetes workloads fail, and says so in the cluster" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/shindan-dev/shindan"
COPY --from=build /out/shindan /shindan
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/shindan"]
CMD ["run"]
