# A registry that refuses requests: the first part of the image's name selects the response. `nc -e` runs this for each
# connection. The responses have the format of Docker Hub.
read -r method path _
while read -r header && [ ${#header} -gt 1 ]; do :; done

respond() { # status body header
  printf 'HTTP/1.1 %s\r\nContent-Type: application/json\r\nConnection: close\r\n' "$1"
  if [ -n "$3" ]; then printf '%s\r\n' "$3"; fi
  printf 'Content-Length: %s\r\n\r\n' "${#2}"
  if [ "$method" != HEAD ]; then printf '%s' "$2"; fi
}

bearer="WWW-Authenticate: Bearer realm=\"http://$REALM/token\",service=\"registry\",scope=\"repository:private/app:pull\""
case $path in
  /token*) respond '200 OK' '{"token": "anonymous"}' ;;
  /v2/forbidden/*) respond '403 Forbidden' '{"errors": [{"code": "DENIED", "message": "not from this network"}]}' ;;
  /v2/limited/*) respond '429 Too Many Requests' '{"errors": [{"code": "TOOMANYREQUESTS", "message": "You have reached your pull rate limit."}]}' ;;
  /v2/broken/*) respond '500 Internal Server Error' '{"errors": [{"code": "UNKNOWN", "message": "no space left on device"}]}' ;;
  *) respond '401 Unauthorized' '{"errors": [{"code": "UNAUTHORIZED", "message": "authentication required"}]}' "$bearer,error=\"insufficient_scope\"" ;;
esac
