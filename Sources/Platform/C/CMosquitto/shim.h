// libmosquitto, a client of MQTT brokers.
#include <mosquitto.h>
