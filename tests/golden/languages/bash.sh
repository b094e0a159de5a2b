#!/bin/bash
# doc
set -e
MAX=3
export FOO=bar
readonly Q=1
# run it
run() {
  local x=1
  inner() { :; }
}
function other { echo; }
alias ll='ls'
source ./lib.sh
. ./b.sh
declare -A map
