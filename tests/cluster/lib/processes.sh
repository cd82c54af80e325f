# Components as processes: each has a log and a pid file with its pid and start time, so that a
# reused pid of another program is never signalled.

inside() { nsenter --net="/var/run/netns/$NETNS" -- "$@"; }
kubectl() { inside "$BIN/kubectl" --kubeconfig "$ADMIN" "$@"; }

start_time() { # pid; empty where there is no such process, or it is a zombie
  sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '$1 != "Z" {print $20}'
}

pid_of() { # component; prints its pid if it runs
  local pid began
  read -r pid began 2>/dev/null <"$RUN/pids/$1" || return 1
  [ -n "$began" ] && [ "$(start_time "$pid")" = "$began" ] && echo "$pid"
}

spawn() { # component command...
  local name=$1 pid
  shift
  setsid nsenter --net="/var/run/netns/$NETNS" -- "$@" >>"$RUN/log/$name.log" 2>&1 </dev/null &
  pid=$!
  echo "$pid $(start_time $pid)" >"$RUN/pids/$name"
}

stop() { # component
  local pid grace=20
  # Its graceful shutdown takes longer anyway, and it has no state of its own.
  if [ "$1" = apiserver ]; then grace=2; fi
  if pid=$(pid_of "$1"); then
    kill -TERM "$pid"
    kill -CONT "$pid"
    if ! quietly_within $grace is_stopped "$1"; then kill -KILL "$pid"; quietly_within 5 is_stopped "$1" || true; fi
  fi
  rm -f "$RUN/pids/$1"
}

is_stopped() { ! pid_of "$1" >/dev/null; }

quietly_within() { # seconds command...
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    if [ $SECONDS -ge $end ]; then return 1; fi
    sleep 0.1
  done
}

within() { # seconds what command...
  local seconds=$1 what=$2
  shift 2
  quietly_within "$seconds" "$@" || die "gave up after $seconds s waiting for $what; see: $SELF logs COMPONENT"
}

known_component() {
  local component
  for component in "${COMPONENTS[@]}"; do [ "$component" = "$1" ] && return; done
  die "no such component: ${1:-(none)}; there are: ${COMPONENTS[*]}"
}
