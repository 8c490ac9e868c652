# The module finds libzmq, and its JSON keeps each digit of a number.
use v5.26;
use warnings;
use Test::More tests => 2;

use_ok('HealthHub');
is(HealthHub::encode(HealthHub::decode('{"value":0.30000000000000004}')), '{"value":0.30000000000000004}');
