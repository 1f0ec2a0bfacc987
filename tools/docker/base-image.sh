#!/usr/bin/env bash
# Make a Debian base image with python3 without a container registry, if it is not there yet.
#   base-image.sh [TAG]           default m4bench/base:bookworm
# On Debian 12 the closure of installed packages is copied from disk (2 s); elsewhere, or when packages are
# missing, debootstrap fetches them from the mirror that apt uses (about a minute, needs root).
set -euo pipefail
tag=${1:-m4bench/base:bookworm}
suite=bookworm
packages=(bash dash coreutils findutils grep sed mawk tar gzip diffutils debianutils libc-bin libstdc++6
  python3 python3-venv ca-certificates procps passwd login)
if docker image inspect "$tag" >/dev/null 2>&1; then exit 0; fi

root=$(mktemp -d)
trap 'rm -rf "$root" "$root.list" "$root.log"' EXIT
chmod 755 "$root"

host_has_packages() {
  [ "${M4_BASE_FROM_HOST:-1}" = 1 ] && [ "$(id -u)" = 0 ] && command -v dpkg-query >/dev/null &&
    grep -q "^VERSION_CODENAME=$suite" /etc/os-release 2>/dev/null &&
    dpkg-query -W "${packages[@]}" >/dev/null 2>&1
}

from_host() {
  local closure
  closure=$(apt-cache depends --recurse --installed --no-recommends --no-suggests --no-conflicts --no-breaks \
    --no-replaces --no-enhances "${packages[@]}" | grep -E '^[a-z0-9]' | sort -u)
  # shellcheck disable=SC2086
  closure=$({ dpkg-query -W -f '${Package}:${Architecture} ${db:Status-Abbrev}\n' $closure 2>/dev/null || true; } |
    awk '$2 == "ii" {print $1}' | sed 's/:all$//')
  mkdir -p "$root"/{etc,tmp,proc,sys,dev,run,var/tmp,root,home} "$root"/usr/{bin,sbin,lib,lib64}
  chmod 1777 "$root/tmp" "$root/var/tmp"
  for dir in bin sbin lib lib64; do ln -s "usr/$dir" "$root/$dir"; done # merged /usr
  printf 'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n' >"$root/etc/passwd"
  printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
  printf 'hosts: files dns\npasswd: files\ngroup: files\n' >"$root/etc/nsswitch.conf"
  cp /etc/debian_version "$root/etc/"
  # shellcheck disable=SC2086
  dpkg -L $closure |
    grep -vE '^/usr/share/(doc|man|locale|info|lintian|bug)/|^/\.$|^package diverts|^diverted by|^locally diverted' |
    grep -E '^/' | sed -E 's#^/(bin|sbin|lib|lib64)(/|$)#/usr/\1\2#' | sort -u |
    while read -r file; do if [ -e "$file" ] || [ -L "$file" ]; then echo "${file#/}"; fi; done >"$root.list"
  tar -C / --no-recursion -c -T "$root.list" | tar -C "$root" --keep-directory-symlink --skip-old-files -x
  # these links are made by package scripts, so no package lists them
  [ -e "$root/usr/bin/sh" ] || ln -s dash "$root/usr/bin/sh"
  [ -e "$root/usr/bin/awk" ] || ln -s mawk "$root/usr/bin/awk"
  [ -e "$root/usr/bin/which" ] || ln -s which.debianutils "$root/usr/bin/which"
  mkdir -p "$root/etc/ssl/certs"
  if [ -f /etc/ssl/certs/ca-certificates.crt ]; then
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  fi
}

from_mirror() {
  if [ "$(id -u)" != 0 ]; then
    echo "Making the base image needs root; run this with sudo, or set M4_BASE_IMAGE to an image that you have." >&2
    exit 1
  fi
  command -v debootstrap >/dev/null ||
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends debootstrap >/dev/null; }
  local mirror=${DEBIAN_MIRROR:-}
  if [ -z "$mirror" ]; then
    mirror=$(awk -v suite="$suite" 'BEGIN {RS = ""; FS = "\n"} {
      uri = ""; hit = 0
      for (i = 1; i <= NF; i++) {
        if ($i ~ /^URIs:/) {split($i, a, /[ \t]+/); uri = a[2]}
        if ($i ~ /^Suites:/) {n = split($i, b, /[ \t]+/); for (j = 2; j <= n; j++) if (b[j] == suite) hit = 1}
      }
      if (hit && uri != "") {print uri; exit}
    }' /etc/apt/sources.list.d/*.sources 2>/dev/null || true)
  fi
  debootstrap --variant=minbase --include=ca-certificates,python3,python3-venv,procps "$suite" "$root" ${mirror:+"$mirror"} \
    >"$root.log" 2>&1 || { tail -5 "$root.log" >&2; exit 1; }
  # the last one keeps the mirror's address out of the image
  rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/var/log/* \
    "$root"/usr/share/{doc,man,info,locale}/* "$root"/etc/apt/sources.list
}

if host_has_packages; then from_host; else from_mirror; fi
tar -C "$root" --sort=name --numeric-owner -c . |
  docker import --change 'CMD ["/bin/bash"]' --change 'LABEL m4bench.base=bookworm' --change 'LABEL m4bench.python=3.11' - "$tag" >/dev/null
