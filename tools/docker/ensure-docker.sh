#!/usr/bin/env bash
# Start a Docker Engine if none answers; silent on success, safe to call twice. Needs root only when it has to act.
#   ensure-docker.sh          install (Debian) + start + wait
#   ensure-docker.sh --stop   stop the engine, only if this script started it
set -euo pipefail
state=${M4_DOCKER_STATE:-/var/tmp/m4-docker}
log=$state/dockerd.log
mine=$state/dockerd.pid

ready() { docker info >/dev/null 2>&1; }
# a zombie keeps /proc/PID and its name but has no exe link, so the link is what tells
alive() {
  case "$(readlink "/proc/$1/exe" 2>/dev/null)" in
    */dockerd | */containerd | *"/dockerd (deleted)") return 0 ;;
    *) return 1 ;;
  esac
}

if [ "${1:-}" = --stop ]; then
  [ -f "$mine" ] || exit 0
  pid=$(cat "$mine")
  rm -f "$mine"
  alive "$pid" || exit 0
  kill -TERM "$pid"
  for _ in $(seq 150); do alive "$pid" || exit 0; sleep 0.2; done
  kill -KILL "$pid"
  exit 0
fi

ready && exit 0
if [ "$(id -u)" != 0 ]; then
  echo "Docker does not answer and starting it needs root: start Docker, or run this with sudo." >&2
  exit 1
fi
mkdir -p "$state"
exec 9>"$state/lock"
flock 9 # two callers at once start one engine
ready && exit 0
if ! command -v dockerd >/dev/null; then
  if ! command -v apt-get >/dev/null; then
    echo "Docker is not installed: install Docker Engine, then call again." >&2
    exit 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends docker.io iptables iproute2; } >"$state/apt.log" 2>&1 9>&- ||
    { tail -20 "$state/apt.log" >&2; exit 1; }
  ready && exit 0 # a service manager may have started it
fi
# pid files that a SIGKILL left behind make the engine refuse to start
for file in "${DOCKER_PIDFILE:-/var/run/docker.pid}" "${DOCKER_EXEC_ROOT:-/var/run/docker}/containerd/containerd.pid"; do
  if [ -f "$file" ] && ! alive "$(cat "$file")"; then rm -f "$file"; fi
done
# a session of its own and no inherited pipes, or the caller would wait for the engine
setsid dockerd ${DOCKERD_ARGS:-} >>"$log" 2>&1 </dev/null 9>&- &
pid=$!
echo "$pid" >"$mine"
for _ in $(seq 300); do
  ready && exit 0
  kill -0 "$pid" 2>/dev/null || { tail -20 "$log" >&2; exit 1; }
  sleep 0.2
done
echo "dockerd did not answer within 60 s; its log is $log" >&2
exit 1
