# A registry that refuses, answered by hand: the first part of the image's name says how. `nc -e` runs this for each
# connection. The answers have the form that Docker Hub gives them; what containerd makes of them is its own.
read -r method path _
while read -r header && [ ${#header} -gt 1 ]; do :; done

answer() { # status body header
  printf 'HTTP/1.1 %s\r\nContent-Type: application/json\r\nConnection: close\r\n' "$1"
  if [ -n "$3" ]; then printf '%s\r\n' "$3"; fi
  printf 'Content-Length: %s\r\n\r\n' "${#2}"
  if [ "$method" != HEAD ]; then printf '%s' "$2"; fi
}

bearer="WWW-Authenticate: Bearer realm=\"http://$REALM/token\",service=\"registry\",scope=\"repository:private/app:pull\""
case $path in
  /token*) answer '200 OK' '{"token": "anonymous"}' ;;
  /v2/forbidden/*) answer '403 Forbidden' '{"errors": [{"code": "DENIED", "message": "not from this network"}]}' ;;
  /v2/limited/*) answer '429 Too Many Requests' '{"errors": [{"code": "TOOMANYREQUESTS", "message": "You have reached your pull rate limit."}]}' ;;
  /v2/broken/*) answer '500 Internal Server Error' '{"errors": [{"code": "UNKNOWN", "message": "no space left on device"}]}' ;;
  *) answer '401 Unauthorized' '{"errors": [{"code": "UNAUTHORIZED", "message": "authentication required"}]}' "$bearer,error=\"insufficient_scope\"" ;;
esac
